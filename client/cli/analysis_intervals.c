// SPDX-License-Identifier: MIT
#include "client/cli/analysis_intervals.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

void ft_intervals_fini(struct ft_intervals *list)
{
    free(list->items);
    memset(list, 0, sizeof(*list));
}

static void append(struct ft_intervals *list, struct ft_interval interval)
{
    if (list->count == list->space) {
        list->space = list->space ? list->space * 2 : 256;
        list->items = ft_cli_realloc(list->items, list->space, sizeof(*list->items));
    }
    list->items[list->count++] = interval;
}

void ft_intervals_add(struct ft_intervals *list, int64_t start, int64_t end)
{
    if (end <= start) {
        return;
    }
    struct ft_interval *last = list->count ? &list->items[list->count - 1] : NULL;
    if (last && start >= last->start && start <= last->end) {
        last->end = end > last->end ? end : last->end;
        return;
    }
    append(list, (struct ft_interval){.start = start, .end = end});
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

/* Puts an interval behind those that this piece has so far; joins it where it touches the last one. */
static size_t put_joined(struct ft_interval *to, size_t begin, size_t out, struct ft_interval interval)
{
    if (out > begin && interval.start <= to[out - 1].end) {
        to[out - 1].end = interval.end > to[out - 1].end ? interval.end : to[out - 1].end;
        return out;
    }
    to[out] = interval;
    return out + 1;
}

/* Merges neighbouring ordered pieces of `list` into `to`, whose length is set; the number of pieces that are left. */
static size_t merge_pieces(struct ft_intervals *list, struct ft_interval *to)
{
    const struct ft_interval *from = list->items;
    size_t pieces = 0, out = 0;
    for (size_t a = 0; a < list->count; pieces++) {
        size_t begin = out, a_end = piece_end(list, a), b = a_end;
        size_t b_end = b < list->count ? piece_end(list, b) : b, next = b_end;
        while (a < a_end && b < b_end) {
            out = put_joined(to, begin, out, from[a].start <= from[b].start ? from[a++] : from[b++]);
        }
        while (a < a_end) {
            out = put_joined(to, begin, out, from[a++]);
        }
        while (b < b_end) {
            out = put_joined(to, begin, out, from[b++]);
        }
        a = next;
    }
    list->count = out;
    return pieces;
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

void ft_intervals_normalize(struct ft_intervals *list)
{
    if (list->count > 1 && piece_end(list, 0) < list->count) {
        size_t space = list->count, pieces;
        struct ft_interval *other = ft_cli_realloc(NULL, space, sizeof(*other));
        do {
            pieces = merge_pieces(list, other);
            struct ft_interval *merged = other;
            other = list->items;
            list->items = merged;
        } while (pieces > 1);
        list->space = space;
        free(other);
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

void ft_intervals_split(struct ft_intervals *list, int64_t mark, struct ft_intervals *above)
{
    size_t from = list->count;
    while (from > 0 && list->items[from - 1].start >= mark) {
        from--;
    }
    above->count = 0;
    if (from > 0 && list->items[from - 1].end > mark) {
        append(above, (struct ft_interval){.start = mark, .end = list->items[from - 1].end});
        list->items[from - 1].end = mark;
    }
    for (size_t i = from; i < list->count; i++) {
        append(above, list->items[i]);
    }
    list->count = from;
}

void ft_sweep_fini(struct ft_sweep *sweep)
{
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        ft_intervals_fini(&sweep->pending[kind]);
    }
}

void ft_sweep_add(struct ft_sweep *sweep, enum ft_sweep_kind kind, const struct ft_intervals *list)
{
    ft_intervals_merge(&sweep->pending[kind], list);
}

void ft_sweep_settle(struct ft_sweep *sweep, int64_t watermark)
{
    struct ft_intervals above[FT_SWEEP_COUNT] = {0};
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        ft_intervals_split(&sweep->pending[kind], watermark, &above[kind]);
        sweep->total_ns[kind] += ft_intervals_length(&above[kind]);
    }
    sweep->io_and_compute_ns += ft_intervals_common(&above[FT_SWEEP_IO], &above[FT_SWEEP_COMPUTE]);
    sweep->app_io_and_compute_ns += ft_intervals_common(&above[FT_SWEEP_APP_IO], &above[FT_SWEEP_COMPUTE]);
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        ft_intervals_fini(&above[kind]);
    }
}
