// SPDX-License-Identifier: MIT
#include "proto/trace_block.h"

#include <errno.h>
#include <stdlib.h>

// A chunk that is used again and again gives one filling after the other, a
// process that goes through its chunks one chunk after the other: both are series.

#define COMPARE(a, b) \
    if ((a) != (b))   \
        return (a) < (b) ? -1 : 1;

static int compare_by_chunk(const void *a, const void *b)
{
    const struct ft_trace_range *x = &((const struct ft_block_range *)a)->range;
    const struct ft_trace_range *y = &((const struct ft_block_range *)b)->range;

    COMPARE(x->segment, y->segment)
    COMPARE(x->chunk, y->chunk)
    COMPARE(x->fill, y->fill)
    COMPARE(x->from, y->from)
    return 0;
}

static int compare_by_fill(const void *a, const void *b)
{
    const struct ft_block_range *x = a, *y = b;

    COMPARE(x->range.segment, y->range.segment)
    COMPARE(x->range.fill, y->range.fill)
    COMPARE(x->more_fills, y->more_fills)
    COMPARE(x->range.from, y->range.from)
    COMPARE(x->range.to, y->range.to)
    COMPARE(x->range.chunk, y->range.chunk)
    return 0;
}

static bool is_same_chunk(const struct ft_block_range *last, const struct ft_block_range *next)
{
    return next->range.segment == last->range.segment && next->range.chunk == last->range.chunk;
}

static bool are_same_slots(const struct ft_block_range *last, const struct ft_block_range *next)
{
    return next->range.from == last->range.from && next->range.to == last->range.to;
}

// Two pieces of one filling that touch.
static bool join_pieces(struct ft_block_range *last, const struct ft_block_range *next)
{
    if (!is_same_chunk(last, next) || next->range.fill != last->range.fill || next->range.from != last->range.to)
        return false;
    last->range.to = next->range.to;
    return true;
}

// The same slots of the next filling of the chunk.
static bool join_fills(struct ft_block_range *last, const struct ft_block_range *next)
{
    if (!is_same_chunk(last, next) || !are_same_slots(last, next) ||
        next->range.fill - last->range.fill != last->more_fills + 1)
        return false;
    last->more_fills++;
    return true;
}

// The same slots of the same fillings of the next chunk.
static bool join_chunks(struct ft_block_range *last, const struct ft_block_range *next)
{
    if (next->range.segment != last->range.segment || next->range.fill != last->range.fill ||
        next->more_fills != last->more_fills || !are_same_slots(last, next) ||
        next->range.chunk - last->range.chunk != last->more_chunks + 1)
        return false;
    last->more_chunks++;
    return true;
}

static size_t join_all(struct ft_block_range *ranges, size_t count,
                       bool (*join)(struct ft_block_range *last, const struct ft_block_range *next))
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (kept == 0 || !join(&ranges[kept - 1], &ranges[i]))
            ranges[kept++] = ranges[i];
    return kept;
}

size_t ft_block_ranges_join(struct ft_block_range *ranges, size_t count)
{
    qsort(ranges, count, sizeof(*ranges), compare_by_chunk);
    count = join_all(ranges, count, join_pieces);
    count = join_all(ranges, count, join_fills);
    qsort(ranges, count, sizeof(*ranges), compare_by_fill);
    return join_all(ranges, count, join_chunks);
}

void ft_block_ranges_fini(struct ft_block_ranges *room)
{
    free(room->items);
    *room = (struct ft_block_ranges){0};
}

static int copy_ranges(struct ft_block_ranges *room, const struct ft_trace_range *ranges, size_t *count)
{
    if (*count > FT_BLOCK_RANGES_MAX)
        return -EINVAL;
    if (*count && ft_array_grow(&room->items, &room->cap, *count - 1, sizeof(*room->items)))
        return -ENOMEM;
    for (size_t i = 0; i < *count; i++) {
        if (ranges[i].from >= ranges[i].to)
            return -EINVAL;
        room->items[i] = (struct ft_block_range){.range = ranges[i]};
    }
    *count = *count ? ft_block_ranges_join(room->items, *count) : 0;
    return 0;
}

static void range_to_message(const struct ft_block_range *range, Flowtap__Range *out)
{
    flowtap__range__init(out);
    out->chunk = range->range.chunk;
    out->more_chunks = range->more_chunks;
    out->fill = range->range.fill;
    out->more_fills = range->more_fills;
    out->from = range->range.from;
    out->to = range->range.to;
}

int ft_block_ranges_put(struct ft_block_ranges *room, struct ft_arena *arena, const struct ft_trace_range *ranges,
                        size_t count, Flowtap__Block *block)
{
    Flowtap__Segment *segments, **segment_list;
    Flowtap__Range *messages, **list;
    int rc = copy_ranges(room, ranges, &count);

    if (rc)
        return rc;
    messages = ft_arena_zalloc(arena, count, sizeof(*messages));
    list = ft_arena_zalloc(arena, count, sizeof(*list));
    segments = ft_arena_zalloc(arena, count, sizeof(*segments));
    segment_list = ft_arena_zalloc(arena, count, sizeof(*segment_list));
    if (!messages || !list || !segments || !segment_list)
        return -ENOMEM;
    block->segments = segment_list;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || room->items[i].range.segment != room->items[i - 1].range.segment) {
            Flowtap__Segment *segment = &segments[block->n_segments];

            flowtap__segment__init(segment);
            segment->segment = room->items[i].range.segment;
            segment->ranges = &list[i];
            segment_list[block->n_segments++] = segment;
        }
        range_to_message(&room->items[i], &messages[i]);
        list[i] = &messages[i];
        segment_list[block->n_segments - 1]->n_ranges++;
    }
    return 0;
}
