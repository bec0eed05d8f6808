// SPDX-License-Identifier: MIT
#include "client/cli/analysis_groups_block.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_count.h"
#include "client/cli/analysis_spans.h"
#include "client/cli/cli.h"

enum { NO_SLOT = UINT32_MAX, NO_GROUP = UINT32_MAX };

/* Times of a file are untrusted: kept where sums of them cannot overflow. */
#define TIME_MAX (INT64_C(1) << 61)

static int64_t clamp(int64_t time_ns)
{
    return time_ns > TIME_MAX ? TIME_MAX : time_ns < -TIME_MAX ? -TIME_MAX : time_ns;
}

static uint32_t hash_of(const uint32_t *values, size_t count)
{
    uint64_t hash = 0;
    for (size_t k = 0; k < count; k++) {
        hash = (hash ^ values[k]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return (uint32_t)(hash >> 40) % FT_GROUPS_CACHE_SLOTS;
}

static bool are_same(const uint32_t *a, const uint32_t *b, size_t count)
{
    uint32_t differs = 0;
    for (size_t k = 0; k < count; k++) {
        differs |= a[k] ^ b[k];
    }
    return differs == 0;
}

/* NO_GROUP where there are too many: then all of them are refused. */
static uint32_t group_of(struct ft_groups_block *block, const uint32_t *values)
{
    size_t count = block->keys->count, bytes = count * sizeof(*values);
    struct ft_groups_cached *cached = &block->cache[hash_of(values, count)];
    if (cached->group && are_same(cached->values, values, count)) {
        return cached->group - 1;
    }
    struct ft_groups_index *index = block->index;
    pthread_mutex_lock(&index->lock);
    bool is_new = false;
    uint32_t group = NO_GROUP;
    if (!index->is_full) {
        group = ft_map_intern(&index->map, values, bytes, (uint32_t)index->map.count, &is_new);
        index->is_full = is_new && group == FT_GROUPS_MAX;
    }
    bool is_full = index->is_full;
    pthread_mutex_unlock(&index->lock);
    if (is_full) {
        return NO_GROUP;
    }
    memcpy(cached->values, values, bytes);
    cached->group = group + 1;
    return group;
}

static void clear_slot(struct ft_groups_slot *slot, uint32_t group)
{
    slot->group = group;
    slot->owned_ns = 0;
    slot->sums = (struct ft_group_sums){.first_ns = INT64_MAX, .last_ns = INT64_MIN};
    slot->busy.count = 0;
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        slot->block.lists[kind].count = 0;
    }
}

static uint32_t slot_of(struct ft_groups_block *block, uint32_t group)
{
    if (group >= block->slot_of_space) {
        size_t space = (group + (size_t)1) * 2;
        block->slot_of = ft_cli_realloc(block->slot_of, space, sizeof(*block->slot_of));
        for (size_t i = block->slot_of_space; i < space; i++) {
            block->slot_of[i] = NO_SLOT;
        }
        block->slot_of_space = space;
    }
    if (block->slot_of[group] != NO_SLOT) {
        return block->slot_of[group];
    }
    if (block->slot_count == block->slot_space) {
        size_t space = block->slot_space ? block->slot_space * 2 : 16;
        block->slots = ft_cli_realloc(block->slots, space, sizeof(*block->slots));
        memset(&block->slots[block->slot_space], 0, (space - block->slot_space) * sizeof(*block->slots));
        block->slot_space = space;
    }
    block->slot_of[group] = (uint32_t)block->slot_count;
    clear_slot(&block->slots[block->slot_count], group);
    return (uint32_t)block->slot_count++;
}

static void add_way(struct ft_groups_slot *slot, enum ft_group_way way, uint64_t bytes, uint64_t time_ns)
{
    slot->sums.ways[way].count++;
    slot->sums.ways[way].bytes += bytes;
    slot->sums.ways[way].time_ns += time_ns;
}

static void add_call(struct ft_groups_block *block, struct ft_groups_slot *slot, size_t reader,
                     const struct ft_rows *rows, size_t i, int64_t start_ns, int64_t end_ns)
{
    unsigned id = rows->call[i] < FT_TRACE_CALL_MAX ? rows->call[i] : 0,
             mask = ft_pass_mask(block->pass, reader, rows, i);
    unsigned stream = mask & FT_COUNT_METADATA ? block->pass->calls[reader][id].stream : 0;
    uint64_t bytes = rows->bytes[i], time_ns = (uint64_t)rows->dur_ns[i];
    slot->sums.calls++;
    if (mask & FT_COUNT_READ) {
        add_way(slot, FT_GROUP_READS, bytes, time_ns);
    }
    if (mask & FT_COUNT_WRITE) {
        add_way(slot, FT_GROUP_WRITES, bytes, time_ns);
    }
    if (mask & FT_COUNT_METADATA) {
        add_way(slot, FT_GROUP_METADATAS, 0, time_ns);
    }
    if (mask & FT_COUNT_OTHER_IO) {
        add_way(slot, FT_GROUP_OTHERS, bytes, time_ns);
    }
    slot->sums.ways[FT_GROUP_READS].bytes += stream & FT_COUNT_READ ? bytes : 0;
    slot->sums.ways[FT_GROUP_WRITES].bytes += stream & FT_COUNT_WRITE ? bytes : 0;
    if (mask & FT_COUNT_IO) {
        ft_intervals_add(&slot->block.lists[FT_SWEEP_IO], start_ns, end_ns);
    }
}

static void add_span(struct ft_groups_block *block, struct ft_groups_slot *slot, size_t reader, uint32_t category_id,
                     int64_t start_ns, int64_t end_ns)
{
    unsigned sweeps = ft_spans_sweeps(ft_trace_reader_name(ft_trace_set_reader(block->pass->set, reader), category_id));
    slot->sums.spans++;
    for (; sweeps != 0; sweeps &= sweeps - 1) {
        ft_intervals_add(&slot->block.lists[__builtin_ctz(sweeps)], start_ns, end_ns);
    }
}

static void add_row(struct ft_groups_block *block, size_t reader, const struct ft_rows *rows, size_t i, uint32_t group,
                    int64_t offset_ns)
{
    uint32_t at = slot_of(block, group); /* which may move them */
    struct ft_groups_slot *slot = &block->slots[at];
    bool is_call = rows->kind[i] == FT_EVENT_CALL, is_span = rows->kind[i] == FT_EVENT_SPAN;
    int64_t start_ns = clamp(rows->start_ns[i] + offset_ns);
    int64_t end_ns = is_call || is_span ? clamp(start_ns + rows->dur_ns[i]) : start_ns;
    slot->sums.events++;
    slot->sums.first_ns = start_ns < slot->sums.first_ns ? start_ns : slot->sums.first_ns;
    slot->sums.last_ns = end_ns > slot->sums.last_ns ? end_ns : slot->sums.last_ns;
    if (is_call) {
        add_call(block, slot, reader, rows, i, start_ns, end_ns);
    } else if (is_span) {
        add_span(block, slot, reader, rows->category[i], start_ns, end_ns);
    } else {
        return;
    }
    slot->sums.time_ns += (uint64_t)rows->dur_ns[i];
    ft_intervals_add(&slot->busy, start_ns, end_ns);
    /* One that began in another thread lies in nothing that this one does. */
    if (is_call || !(rows->has[i] & FT_HAS_ARG)) {
        ft_owned_add(&block->maker, start_ns, end_ns, group);
    }
}

/* What ft_owned_end() left. */
static void keep_segments(struct ft_groups_block *block, uint32_t thread)
{
    const struct ft_owned_list *list = &block->maker.list;
    struct ft_groups_part part = {
        .thread = thread, .first = block->maker.first, .count = list->count - block->maker.first};
    for (size_t i = part.first; i < list->count; i++) {
        struct ft_groups_slot *slot = &block->slots[block->slot_of[list->items[i].group]];
        slot->owned_ns += list->items[i].end - list->items[i].start;
    }
    if (part.count == 0) {
        return;
    }
    if (block->part_count == block->part_space) {
        block->part_space = block->part_space ? block->part_space * 2 : 16;
        block->parts = ft_cli_realloc(block->parts, block->part_space, sizeof(*block->parts));
    }
    block->parts[block->part_count++] = part;
}

void ft_groups_block_read(struct ft_groups_block *block, size_t reader, const struct ft_rows *rows)
{
    const struct ft_trace_set *set = block->pass->set;
    int64_t offset_ns = ft_trace_set_realtime_ns(set, reader, 0);
    uint32_t values[FT_GROUP_KEYS_MAX] = {0};
    for (size_t s = 0; s < block->slot_count; s++) {
        block->slot_of[block->slots[s].group] = NO_SLOT;
    }
    block->slot_count = block->part_count = 0;
    ft_owned_clear(&block->maker);
    block->host = ft_trace_set_reader_host(set, reader);
    for (size_t r = 0; r < rows->run_count; r++) {
        const struct ft_run *run = &rows->runs[r];
        ft_owned_begin(&block->maker);
        for (size_t i = run->first, end = i + run->count; i < end; i++) {
            ft_group_keys_row(block->keys, reader, run->thread, rows, i, values);
            uint32_t group = group_of(block, values);
            if (group != NO_GROUP) {
                add_row(block, reader, rows, i, group, offset_ns);
            }
        }
        ft_owned_end(&block->maker);
        keep_segments(block, ft_trace_set_thread(set, reader, run->thread));
    }
    for (size_t s = 0; s < block->slot_count; s++) {
        ft_intervals_normalize(&block->slots[s].busy);
        for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
            ft_intervals_normalize(&block->slots[s].block.lists[kind]);
        }
        ft_sweep_block_measure(&block->slots[s].block);
    }
}

struct ft_groups_block *ft_groups_block_create(struct ft_pass *pass, const struct ft_group_keys *keys,
                                               struct ft_groups_index *index, void *context)
{
    struct ft_groups_block *block = ft_cli_alloc(sizeof(*block));
    block->pass = pass;
    block->keys = keys;
    block->index = index;
    block->context = context;
    return block;
}

void ft_groups_block_destroy(struct ft_groups_block *block)
{
    for (size_t s = 0; s < block->slot_space; s++) {
        ft_intervals_fini(&block->slots[s].busy);
        for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
            ft_intervals_fini(&block->slots[s].block.lists[kind]);
        }
    }
    ft_owned_maker_fini(&block->maker);
    free(block->slots);
    free(block->slot_of);
    free(block->parts);
    free(block);
}
