// SPDX-License-Identifier: MIT
#include "client/cli/analysis_intervals.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

enum { DIGIT_BITS = 10, BUCKET_BITS = 12, BUCKET_WANTED = 8, BUCKET_MOST = 256 };

void ft_intervals_fini(struct ft_intervals *list)
{
    free(list->items);
    memset(list, 0, sizeof(*list));
}

void ft_intervals_append(struct ft_intervals *list, int64_t start, int64_t end)
{
    if (list->count == list->space) {
        list->space = list->space ? list->space * 2 : 4; /* of groups there are many, most of them small */
        list->items = ft_cli_realloc(list->items, list->space, sizeof(*list->items));
    }
    list->items[list->count++] = (struct ft_interval){.start = start, .end = end};
}

/* End of the piece in order of start that begins at `from`. */
static size_t piece_end(const struct ft_intervals *list, size_t from)
{
    size_t end = from + 1;
    while (end < list->count && list->items[end].start >= list->items[end - 1].start) {
        end++;
    }
    return end < list->count ? end : list->count;
}

/* Puts an interval behind `out` others; joins it where it touches the last one. */
static size_t put_joined(struct ft_interval *to, size_t out, struct ft_interval interval)
{
    if (out > 0 && interval.start <= to[out - 1].end) {
        to[out - 1].end = interval.end > to[out - 1].end ? interval.end : to[out - 1].end;
        return out;
    }
    to[out] = interval;
    return out + 1;
}

/* Merges the two ordered pieces of `list` into `to`; the list's length becomes the result's. */
static void merge_pieces(struct ft_intervals *list, struct ft_interval *to)
{
    const struct ft_interval *from = list->items;
    size_t a = 0, a_end = piece_end(list, 0), b = a_end, out = 0;
    while (a < a_end && b < list->count) {
        out = put_joined(to, out, from[a].start <= from[b].start ? from[a++] : from[b++]);
    }
    while (a < a_end) {
        out = put_joined(to, out, from[a++]);
    }
    while (b < list->count) {
        out = put_joined(to, out, from[b++]);
    }
    list->count = out;
}

/* Joins what overlaps or touches in a list in order of start. */
static void join(struct ft_intervals *list)
{
    size_t kept = 0;
    for (size_t i = 1; i < list->count; i++) {
        struct ft_interval *last = &list->items[kept];
        if (list->items[i].start <= last->end) {
            last->end = list->items[i].end > last->end ? list->items[i].end : last->end;
        } else {
            list->items[++kept] = list->items[i];
        }
    }
    list->count = list->count ? kept + 1 : 0;
}

/* Bits of the starts above the smallest one. */
static unsigned bits_of(const struct ft_interval *items, size_t count, int64_t *min)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        int64_t start = items[i].start;
        least = start < least ? start : least;
        most = start > most ? start : most;
    }
    uint64_t range = count ? (uint64_t)most - (uint64_t)least : 0;
    *min = least;
    return range ? 64 - (unsigned)__builtin_clzll(range) : 0;
}

/* Moves all to `to`, by `width` bits of their starts; `ends`: where those of each value end there. */
static void distribute(const struct ft_interval *items, size_t count, struct ft_interval *to, int64_t min,
                       unsigned shift, unsigned width, uint32_t *ends)
{
    uint32_t mask = (uint32_t)((1U << width) - 1), sum = 0;
    memset(ends, 0, sizeof(*ends) << width);
    for (size_t i = 0; i < count; i++) {
        ends[((uint64_t)items[i].start - (uint64_t)min) >> shift & mask]++;
    }
    for (uint32_t digit = 0; digit <= mask; digit++) {
        uint32_t here = ends[digit];
        ends[digit] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++) {
        to[ends[((uint64_t)items[i].start - (uint64_t)min) >> shift & mask]++] = items[i];
    }
}

/* Some bits after the other, the lowest first: no branches that chance decides. Which of the two holds the result. */
static struct ft_interval *sort_by_digits(struct ft_interval *items, size_t count, struct ft_interval *to, int64_t min,
                                          unsigned bits)
{
    unsigned passes = (bits + DIGIT_BITS - 1) / DIGIT_BITS, width = passes ? (bits + passes - 1) / passes : 0;
    uint32_t ends[1 << DIGIT_BITS];
    for (unsigned pass = 0; pass < passes; pass++) {
        distribute(items, count, to, min, pass * width, width, ends);
        struct ft_interval *sorted = to;
        to = items;
        items = sorted;
    }
    return items;
}

/* Those of one bucket are few and, coming from a few threads, nearly in order. */
static void sort_buckets(struct ft_interval *items, const uint32_t *ends, unsigned width)
{
    for (uint32_t bucket = 0, begin = 0; bucket < 1U << width; begin = ends[bucket++]) {
        for (uint32_t i = begin + 1; i < ends[bucket]; i++) {
            struct ft_interval one = items[i];
            uint32_t at = i;
            for (; at > begin && items[at - 1].start > one.start; at--) {
                items[at] = items[at - 1];
            }
            items[at] = one;
        }
    }
}

static bool has_full_bucket(const uint32_t *ends, unsigned width)
{
    bool has = ends[0] > BUCKET_MOST;
    for (uint32_t bucket = 1; bucket < 1U << width; bucket++) {
        has |= ends[bucket] - ends[bucket - 1] > BUCKET_MOST;
    }
    return has;
}

/*
 * What happened in a block is spread over its time: so one distribution by the highest bits, and then each bucket by
 * itself. Where it is not spread, bits after bits.
 */
static struct ft_interval *sort(struct ft_interval *items, size_t count, struct ft_interval *to)
{
    uint32_t ends[1 << BUCKET_BITS];
    int64_t min;
    unsigned bits = bits_of(items, count, &min), width = 1;
    if (bits == 0) {
        return items;
    }
    while (width < BUCKET_BITS && count >> width > BUCKET_WANTED) {
        width++;
    }
    width = width < bits ? width : bits;
    distribute(items, count, to, min, bits - width, width, ends);
    if (has_full_bucket(ends, width)) {
        return sort_by_digits(items, count, to, min, bits);
    }
    sort_buckets(to, ends, width);
    return to;
}

void ft_intervals_reserve(struct ft_intervals *list, size_t count)
{
    if (count > list->space - list->count) {
        list->space = list->count + count + list->space / 2;
        list->items = ft_cli_realloc(list->items, list->space, sizeof(*list->items));
    }
}

static void sort_list(struct ft_intervals *list)
{
    struct ft_interval *scratch = ft_cli_alloc(list->space * sizeof(*scratch));
    if (sort(list->items, list->count, scratch) == scratch) {
        struct ft_interval *other = list->items;
        list->items = scratch;
        scratch = other;
    }
    free(scratch);
}

void ft_intervals_normalize(struct ft_intervals *list)
{
    size_t pieces = list->count > 0;
    for (size_t i = 1; i < list->count; i++) {
        pieces += list->items[i].start < list->items[i - 1].start;
    }
    if (pieces == 2) {
        struct ft_interval *other = ft_cli_realloc(NULL, list->space, sizeof(*other)), *merged = other;
        merge_pieces(list, merged);
        other = list->items;
        list->items = merged; /* what overlaps was joined on the way */
        free(other);
        return;
    }
    if (pieces > 2) {
        sort_list(list);
    }
    join(list);
}

/*
 * The other list is before this one in time, most often, and overlaps with its first intervals: so from the last one to the
 * first, in place. What of this list lies below all of the other stays as it is.
 */
static void merge_backwards(struct ft_intervals *list, const struct ft_interval *other, size_t other_count)
{
    struct ft_interval *items = list->items;
    size_t a = list->count, b = other_count, end = a + b, out = end;
    struct ft_interval one = items[a - 1].end > other[b - 1].end ? items[--a] : other[--b];
    while (b > 0 || (a > 0 && items[a - 1].end >= one.start)) {
        struct ft_interval next = b == 0 || (a > 0 && items[a - 1].end > other[b - 1].end) ? items[--a] : other[--b];
        if (next.end < one.start) {
            items[--out] = one;
            one = next;
        } else {
            one.start = next.start < one.start ? next.start : one.start;
        }
    }
    items[--out] = one;
    memmove(items + a, items + out, (end - out) * sizeof(*items));
    list->count = a + (end - out);
}

void ft_intervals_merge(struct ft_intervals *list, const struct ft_intervals *other)
{
    if (other->count == 0) {
        return;
    }
    if (list->count + other->count > list->space) {
        list->space = list->count + other->count;
        list->items = ft_cli_realloc(list->items, list->space, sizeof(*list->items));
    }
    if (list->count == 0 || list->items[list->count - 1].end < other->items[0].start) {
        memcpy(list->items + list->count, other->items, other->count * sizeof(*other->items));
        list->count += other->count;
    } else {
        merge_backwards(list, other->items, other->count);
    }
}

int64_t ft_intervals_length(const struct ft_intervals *list)
{
    int64_t length = 0;
    for (size_t i = 0; i < list->count; i++) {
        length += list->items[i].end - list->items[i].start;
    }
    return length;
}

int64_t ft_intervals_common(const struct ft_intervals *a, const struct ft_intervals *b)
{
    int64_t length = 0;
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        struct ft_interval x = a->items[i], y = b->items[k];
        int64_t start = x.start > y.start ? x.start : y.start, end = x.end < y.end ? x.end : y.end;
        length += end > start ? end - start : 0;
        if (x.end < y.end) {
            i++;
        } else {
            k++;
        }
    }
    return length;
}

size_t ft_intervals_above(const struct ft_intervals *list, int64_t mark)
{
    size_t from = list->count;
    while (from > 0 && list->items[from - 1].end > mark) {
        from--;
    }
    return from;
}

struct ft_intervals ft_intervals_intersect(const struct ft_intervals *a, const struct ft_intervals *b)
{
    struct ft_intervals both = {0};
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        struct ft_interval x = a->items[i], y = b->items[k];
        ft_intervals_add(&both, x.start > y.start ? x.start : y.start, x.end < y.end ? x.end : y.end);
        if (x.end < y.end) {
            i++;
        } else {
            k++;
        }
    }
    return both;
}
