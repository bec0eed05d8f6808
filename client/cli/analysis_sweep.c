// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_intervals.h"

void ft_sweep_fini(struct ft_sweep *sweep)
{
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        ft_intervals_fini(&sweep->pending[kind]);
    }
}

static void add(struct ft_sweep_totals *to, const struct ft_sweep_totals *from, int64_t sign)
{
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        to->total_ns[kind] += sign * from->total_ns[kind];
    }
    to->io_and_compute_ns += sign * from->io_and_compute_ns;
    to->app_io_and_compute_ns += sign * from->app_io_and_compute_ns;
}

void ft_sweep_totals_add(struct ft_sweep_totals *to, const struct ft_sweep_totals *from)
{
    add(to, from, 1);
}

static struct ft_sweep_totals measure(const struct ft_intervals *lists)
{
    struct ft_sweep_totals totals;
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        totals.total_ns[kind] = ft_intervals_length(&lists[kind]);
    }
    totals.io_and_compute_ns = ft_intervals_common(&lists[FT_SWEEP_IO], &lists[FT_SWEEP_COMPUTE]);
    totals.app_io_and_compute_ns = ft_intervals_common(&lists[FT_SWEEP_APP_IO], &lists[FT_SWEEP_COMPUTE]);
    return totals;
}

void ft_sweep_block_measure(struct ft_sweep_block *block)
{
    block->totals = measure(block->lists);
}

bool ft_sweep_is_empty(const struct ft_sweep *sweep)
{
    bool is_empty = true;
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        is_empty &= sweep->pending[kind].count == 0;
    }
    return is_empty;
}

int64_t ft_sweep_end(const struct ft_sweep *sweep)
{
    int64_t end = INT64_MIN;
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        const struct ft_intervals *pending = &sweep->pending[kind];
        end = pending->count > 0 && pending->items[pending->count - 1].end > end
                  ? pending->items[pending->count - 1].end
                  : end;
    }
    return end;
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
    struct ft_intervals parts[FT_SWEEP_COUNT];
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        above[kind] = cut(&sweep->pending[kind], watermark);
        parts[kind] = above[kind].part;
    }
    struct ft_sweep_totals totals = measure(parts);
    add(&sweep->totals, &totals, 1);
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        drop(&sweep->pending[kind], &above[kind], watermark);
    }
}

static int64_t first_pending(const struct ft_sweep *sweep)
{
    int64_t first = INT64_MAX;
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        const struct ft_intervals *pending = &sweep->pending[kind];
        first = pending->count > 0 && pending->items[0].start < first ? pending->items[0].start : first;
    }
    return first;
}

/* What of a normal list lies below a mark. */
static void copy_below(struct ft_intervals *to, const struct ft_intervals *list, int64_t mark)
{
    to->count = 0;
    for (size_t i = 0; i < list->count && list->items[i].start < mark; i++) {
        ft_intervals_append(to, list->items[i].start, list->items[i].end < mark ? list->items[i].end : mark);
    }
}

/* What lies at or above it. */
static void copy_above(struct ft_intervals *to, const struct ft_intervals *list, int64_t mark)
{
    to->count = 0;
    for (size_t i = ft_intervals_above(list, mark); i < list->count; i++) {
        ft_intervals_append(to, list->items[i].start > mark ? list->items[i].start : mark, list->items[i].end);
    }
}

/* Moves an end of the block, which is cut off from what is final, to what is pending. */
static void move_end(struct ft_sweep *sweep, const struct ft_sweep_block *block, int64_t mark, bool is_above)
{
    struct ft_intervals ends[FT_SWEEP_COUNT] = {0};
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        (is_above ? copy_above : copy_below)(&ends[kind], &block->lists[kind], mark);
    }
    struct ft_sweep_totals totals = measure(ends);
    add(&sweep->totals, &totals, -1);
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        ft_intervals_merge(&sweep->pending[kind], &ends[kind]);
        ft_intervals_fini(&ends[kind]);
    }
}

/*
 * Most of a block lies below all that is pending and above the watermark: that is final at once, and only its ends are
 * merged. Where blocks lie beside each other, as those of many hosts do, there is no such part.
 */
void ft_sweep_add(struct ft_sweep *sweep, const struct ft_sweep_block *block, int64_t watermark)
{
    int64_t border = first_pending(sweep);
    if (border > watermark) {
        add(&sweep->totals, &block->totals, 1);
        if (border != INT64_MAX) {
            move_end(sweep, block, border, true);
        }
        move_end(sweep, block, watermark, false);
    } else {
        for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
            ft_intervals_merge(&sweep->pending[kind], &block->lists[kind]);
        }
    }
    ft_sweep_settle(sweep, watermark);
}
