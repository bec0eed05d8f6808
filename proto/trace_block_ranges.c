// SPDX-License-Identifier: MIT
#include "proto/trace_block.h"

static int compare(const void *a, const void *b)
{
    const struct ft_trace_range *x = &((const struct ft_block_range *)a)->range;
    const struct ft_trace_range *y = &((const struct ft_block_range *)b)->range;

    if (x->segment != y->segment)
        return x->segment < y->segment ? -1 : 1;
    if (x->fill != y->fill)
        return x->fill < y->fill ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

// Two pieces of one filling that touch.
static bool extends_piece(const struct ft_block_range *last, const struct ft_block_range *next)
{
    return last->more == 0 && next->range.segment == last->range.segment && next->range.fill == last->range.fill &&
           next->range.from == last->range.to;
}

// The same slots of the next filling.
static bool extends_series(const struct ft_block_range *last, const struct ft_block_range *next)
{
    return next->range.segment == last->range.segment && next->range.fill == last->range.fill + last->more + 1 &&
           next->range.fill > last->range.fill && next->range.from == last->range.from &&
           next->range.to == last->range.to;
}

size_t ft_block_ranges_join(struct ft_block_range *ranges, size_t count)
{
    size_t pieces = 0, kept = 0;

    qsort(ranges, count, sizeof(*ranges), compare);
    for (size_t i = 0; i < count; i++) {
        if (pieces && extends_piece(&ranges[pieces - 1], &ranges[i]))
            ranges[pieces - 1].range.to = ranges[i].range.to;
        else
            ranges[pieces++] = ranges[i];
    }
    for (size_t i = 0; i < pieces; i++) {
        if (kept && extends_series(&ranges[kept - 1], &ranges[i]))
            ranges[kept - 1].more++;
        else
            ranges[kept++] = ranges[i];
    }
    return kept;
}
