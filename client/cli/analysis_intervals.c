// SPDX-License-Identifier: MIT
#include "client/cli/analysis_intervals.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

enum { DIGIT_BITS = 10 };

void ft_intervals_fini(struct ft_intervals *list)
{
    free(list->items);
    memset(list, 0, sizeof(*list));
}

void ft_intervals_append(struct ft_intervals *list, int64_t start, int64_t end)
{
    if (list->count == list->space) {
        list->space = list->space ? list->space * 2 : 256;
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

/* Orders a list by start, some bits of it after the other, the lowest first: no branches that chance decides. */
static void sort(struct ft_intervals *list, int64_t min, int64_t max)
{
    uint64_t range = (uint64_t)max - (uint64_t)min;
    unsigned bits = range ? 64 - (unsigned)__builtin_clzll(range) : 0;
    unsigned passes = (bits + DIGIT_BITS - 1) / DIGIT_BITS, width = passes ? (bits + passes - 1) / passes : 0;
    struct ft_interval *from = list->items, *to = passes ? ft_cli_realloc(NULL, list->space, sizeof(*to)) : NULL;
    for (unsigned pass = 0; pass < passes; pass++) {
        uint32_t next[1 << DIGIT_BITS] = {0};
        unsigned shift = pass * width, mask = (1U << width) - 1;
        uint32_t sum = 0;
        for (size_t i = 0; i < list->count; i++) {
            next[((uint64_t)from[i].start - (uint64_t)min) >> shift & mask]++;
        }
        for (unsigned digit = 0; digit <= mask; digit++) {
            uint32_t here = next[digit];
            next[digit] = sum;
            sum += here;
        }
        for (size_t i = 0; i < list->count; i++) {
            to[next[((uint64_t)from[i].start - (uint64_t)min) >> shift & mask]++] = from[i];
        }
        struct ft_interval *sorted = to;
        to = from;
        from = sorted;
    }
    list->items = from;
    free(to);
}

void ft_intervals_normalize(struct ft_intervals *list)
{
    size_t pieces = list->count > 0;
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (size_t i = 0; i < list->count; i++) {
        int64_t start = list->items[i].start;
        pieces += i > 0 && start < list->items[i - 1].start;
        min = start < min ? start : min;
        max = start > max ? start : max;
    }
    if (pieces == 2) {
        struct ft_interval *other = ft_cli_realloc(NULL, list->space, sizeof(*other)), *merged = other;
        merge_pieces(list, merged);
        other = list->items;
        list->items = merged;
        free(other);
    } else if (pieces > 2) {
        sort(list, min, max);
    }
    join(list);
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
    memcpy(list->items + list->count, other->items, other->count * sizeof(*other->items));
    list->count += other->count;
    ft_intervals_normalize(list);
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

void ft_sweep_fini(struct ft_sweep *sweep)
{
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        ft_intervals_fini(&sweep->pending[kind]);
    }
}

void ft_sweep_add(struct ft_sweep *sweep, enum ft_sweep_kind kind, struct ft_intervals *list)
{
    struct ft_intervals *pending = &sweep->pending[kind];
    if (pending->count == 0) {
        struct ft_intervals taken = *list;
        *list = *pending;
        *pending = taken;
        return;
    }
    ft_intervals_merge(pending, list);
}

/* What of a list lies above the watermark, in place: the list's first interval there is cut for as long as it is used. */
struct above {
    struct ft_intervals part;
    int64_t start; /* of that interval before the cut */
};

static struct above cut(struct ft_intervals *list, int64_t watermark)
{
    size_t from = ft_intervals_above(list, watermark);
    struct above above = {.part.items = list->items ? list->items + from : NULL, .part.count = list->count - from};
    if (above.part.count > 0) {
        above.start = above.part.items->start;
        above.part.items->start = above.start < watermark ? watermark : above.start;
    }
    return above;
}

/* Drops what was above, and ends the interval that was cut at the watermark. */
static void drop(struct ft_intervals *list, const struct above *above, int64_t watermark)
{
    list->count -= above->part.count;
    if (above->part.count > 0 && above->start < watermark) {
        list->items[list->count++] = (struct ft_interval){.start = above->start, .end = watermark};
    }
}

void ft_sweep_settle(struct ft_sweep *sweep, int64_t watermark)
{
    struct above above[FT_SWEEP_COUNT];
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        above[kind] = cut(&sweep->pending[kind], watermark);
        sweep->total_ns[kind] += ft_intervals_length(&above[kind].part);
    }
    sweep->io_and_compute_ns += ft_intervals_common(&above[FT_SWEEP_IO].part, &above[FT_SWEEP_COMPUTE].part);
    sweep->app_io_and_compute_ns += ft_intervals_common(&above[FT_SWEEP_APP_IO].part, &above[FT_SWEEP_COMPUTE].part);
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        drop(&sweep->pending[kind], &above[kind], watermark);
    }
}
