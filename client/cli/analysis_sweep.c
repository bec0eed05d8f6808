// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_intervals.h"
#include "client/cli/analysis_packed.h"

void ft_sweep_fini(struct ft_sweep *sweep)
{
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        ft_intervals_fini(&sweep->pending[kind]);
    }
}

/*
 * Kinds whose totals depend on nothing but themselves stand alone; those that are compared with each other are added, cut
 * and merged at the same marks.
 */
#define COMPARED (1U << FT_SWEEP_IO | 1U << FT_SWEEP_APP | 1U << FT_SWEEP_COMPUTE | 1U << FT_SWEEP_APP_IO)
#define ALL ((1U << FT_SWEEP_COUNT) - 1)

static const unsigned groups[] = {COMPARED, 1U << FT_SWEEP_READ, 1U << FT_SWEEP_WRITE, 1U << FT_SWEEP_MOVE};

static void add(struct ft_sweep_totals *to, const struct ft_sweep_totals *from, unsigned kinds, int64_t sign)
{
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        to->total_ns[kind] += kinds >> kind & 1 ? sign * from->total_ns[kind] : 0;
    }
    if (kinds & 1U << FT_SWEEP_COMPUTE) {
        to->io_and_compute_ns += sign * from->io_and_compute_ns;
        to->app_io_and_compute_ns += sign * from->app_io_and_compute_ns;
    }
}

void ft_sweep_totals_add(struct ft_sweep_totals *to, const struct ft_sweep_totals *from)
{
    add(to, from, ALL, 1);
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

static bool is_of_calls(int kind)
{
    return kind <= FT_SWEEP_MOVE;
}

void ft_sweep_block_measure(struct ft_sweep_block *block)
{
    block->totals = measure(block->lists);
    if (block->calls.count > 0) {
        ft_packed_measure(&block->calls, block->totals.total_ns);
        block->totals.io_and_compute_ns =
            ft_packed_common(&block->calls, block->totals.total_ns[FT_SWEEP_IO], &block->lists[FT_SWEEP_COMPUTE]);
    }
}

int64_t ft_sweep_block_start(const struct ft_sweep_block *block)
{
    int64_t first = block->calls.count > 0 ? ft_packed_start(&block->calls) : INT64_MAX;
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        const struct ft_intervals *list = &block->lists[kind];
        first = list->count > 0 && list->items[0].start < first ? list->items[0].start : first;
    }
    return first;
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
    add(&sweep->totals, &totals, ALL, 1);
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        drop(&sweep->pending[kind], &above[kind], watermark);
    }
}

static int64_t first_pending(const struct ft_sweep *sweep, unsigned kinds)
{
    int64_t first = INT64_MAX;
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        const struct ft_intervals *pending = &sweep->pending[kind];
        bool is_less = kinds >> kind & 1 && pending->count > 0 && pending->items[0].start < first;
        first = is_less ? pending->items[0].start : first;
    }
    return first;
}

/* What of one kind lies in [from, to_ns), behind what `to` has below. */
static void copy(struct ft_intervals *to, const struct ft_sweep_block *block, int kind, int64_t from, int64_t to_ns)
{
    const struct ft_intervals *list = &block->lists[kind];
    if (block->calls.count > 0 && is_of_calls(kind)) {
        ft_packed_copy(&block->calls, (enum ft_sweep_kind)kind, from, to_ns, to);
        return;
    }
    for (size_t i = ft_intervals_above(list, from); i < list->count && list->items[i].start < to_ns; i++) {
        struct ft_interval one = list->items[i];
        ft_intervals_append(to, one.start > from ? one.start : from, one.end < to_ns ? one.end : to_ns);
    }
}

/* Merges what of the block lies in [from, to_ns) into what is pending; `sign` -1: it is final no more. */
static void move_part(struct ft_sweep *sweep, const struct ft_sweep_block *block, unsigned kinds, int64_t from,
                      int64_t to_ns, int64_t sign)
{
    struct ft_intervals part[FT_SWEEP_COUNT] = {0};
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        if (kinds >> kind & 1) {
            copy(&part[kind], block, kind, from, to_ns);
        }
    }
    if (sign < 0) {
        struct ft_sweep_totals totals = measure(part);
        add(&sweep->totals, &totals, kinds, sign);
    }
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        ft_intervals_merge(&sweep->pending[kind], &part[kind]);
        ft_intervals_fini(&part[kind]);
    }
}

/*
 * Most of a block lies below all that is pending and above the watermark: that is final at once, and only its ends are
 * merged. Where blocks lie beside each other, as those of many hosts do, there is no such part.
 */
void ft_sweep_add(struct ft_sweep *sweep, const struct ft_sweep_block *block, int64_t watermark)
{
    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        int64_t border = first_pending(sweep, groups[g]);
        if (border <= watermark) {
            move_part(sweep, block, groups[g], INT64_MIN, INT64_MAX, 0);
            continue;
        }
        add(&sweep->totals, &block->totals, groups[g], 1);
        if (border != INT64_MAX) {
            move_part(sweep, block, groups[g], border, INT64_MAX, -1);
        }
        if (watermark != INT64_MIN) {
            move_part(sweep, block, groups[g], INT64_MIN, watermark, -1);
        }
    }
    ft_sweep_settle(sweep, watermark);
}
