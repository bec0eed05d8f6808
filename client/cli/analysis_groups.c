// SPDX-License-Identifier: MIT
#include "client/cli/analysis_groups.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_ends.h"
#include "client/cli/analysis_groups_block.h"
#include "client/cli/cli.h"

/* What blocks are put together in, one at a time and in the order of the pass. */
struct context {
    struct ft_groups *groups;
    struct ft_groups_index index;
    struct ft_owned_list *pending; /* by thread: what a block that is still to come may take from */
    struct ft_ends ends;
};

static struct ft_group *group_at(struct ft_groups *groups, uint32_t group)
{
    if (group >= groups->space) {
        size_t space = (group + (size_t)1) * 2;
        groups->items = ft_cli_realloc(groups->items, space, sizeof(*groups->items));
        memset(&groups->items[groups->space], 0, (space - groups->space) * sizeof(*groups->items));
        groups->space = space;
    }
    return &groups->items[group];
}

static void add_sums(struct ft_group_sums *to, const struct ft_group_sums *from)
{
    bool is_first = to->events == 0;
    to->first_ns = is_first || from->first_ns < to->first_ns ? from->first_ns : to->first_ns;
    to->last_ns = is_first || from->last_ns > to->last_ns ? from->last_ns : to->last_ns;
    to->events += from->events;
    to->calls += from->calls;
    to->spans += from->spans;
    to->time_ns += from->time_ns;
    for (int way = 0; way < FT_GROUP_WAYS; way++) {
        to->ways[way].count += from->ways[way].count;
        to->ways[way].bytes += from->ways[way].bytes;
        to->ways[way].time_ns += from->ways[way].time_ns;
    }
}

static void add_slot(struct ft_groups *groups, const struct ft_groups_slot *slot, int64_t watermark_ns)
{
    struct ft_group *group = group_at(groups, slot->group);
    struct ft_sweep_block busy = {.lists[FT_SWEEP_IO] = slot->busy};
    add_sums(&group->sums, &slot->sums);
    group->owned_ns += slot->owned_ns;
    ft_sweep_add(&group->sweep, &slot->block, watermark_ns);
    ft_sweep_block_measure(&busy);
    ft_sweep_add(&group->busy, &busy, watermark_ns);
}

static void lose(void *groups, uint32_t group, int64_t ns)
{
    group_at(groups, group)->owned_ns -= ns;
}

/*
 * What of a thread's segments a block to come may reach stays pending: that begins below the watermark. What was pending is
 * of later blocks: most segments lie before all of it, and belong to nothing else.
 */
static void settle_part(struct context *context, const struct ft_groups_block *block, const struct ft_groups_part *part,
                        int64_t watermark_ns)
{
    if (part->thread == FT_TRACE_SET_NONE) {
        return; /* its record is lost: nobody knows which other blocks it is in */
    }
    struct ft_owned_list *pending = &context->pending[part->thread], both = {0}, left = {0};
    struct ft_owned_list own = {.items = &block->maker.list.items[part->first], .count = part->count}, rest = own;
    own.count = pending->count > 0 ? ft_owned_ended(&own, pending->items[0].start) : own.count;
    rest.items += own.count;
    rest.count -= own.count;
    for (size_t i = 0, below = ft_owned_begun(&own, watermark_ns); i < below; i++) {
        ft_owned_append(&left, &own.items[i]);
    }
    ft_owned_combine(&rest, pending, &both, lose, context->groups);
    for (size_t i = 0; i < both.count && both.items[i].start < watermark_ns; i++) {
        ft_owned_append(&left, &both.items[i]);
    }
    ft_owned_fini(&both);
    ft_owned_fini(pending);
    *pending = left;
}

static void take_block(void *block_untyped, int64_t watermark_ns)
{
    const struct ft_groups_block *block = block_untyped;
    struct context *context = block->context;
    int64_t host_watermark_ns = ft_ends_take(&context->ends, block->host);
    for (size_t s = 0; s < block->slot_count; s++) {
        add_slot(context->groups, &block->slots[s], watermark_ns);
    }
    for (size_t p = 0; p < block->part_count; p++) {
        settle_part(context, block, &block->parts[p], host_watermark_ns);
    }
}

static void *begin(struct ft_pass *pass)
{
    struct context *context = pass->context;
    return ft_groups_block_create(pass, context->groups->keys, &context->index, context);
}

static void add(void *block, size_t reader, const struct ft_rows *rows)
{
    ft_groups_block_read(block, reader, rows);
}

static void end(void *block)
{
    ft_groups_block_destroy(block);
}

static void release(struct context *context, const struct ft_trace_set *set)
{
    for (size_t t = 0; t < ft_trace_set_thread_count(set); t++) {
        ft_owned_fini(&context->pending[t]);
    }
    free(context->pending);
    ft_ends_fini(&context->ends);
    ft_map_fini(&context->index.map);
    pthread_mutex_destroy(&context->index.lock);
}

static const struct ft_group_keys *compared_keys;

static int compare(const void *a_untyped, const void *b_untyped)
{
    const struct ft_group *a = a_untyped, *b = b_untyped;
    int order = 0;
    for (size_t k = 0; k < compared_keys->count && order == 0; k++) {
        order = ft_group_keys_compare(compared_keys, a->values[k], b->values[k]);
    }
    return order;
}

/* Their values stand in the index, in the order in which they were found. */
static void finish(struct context *context)
{
    struct ft_groups *groups = context->groups;
    const struct ft_map *map = &context->index.map;
    groups->are_too_many = context->index.is_full;
    if (groups->are_too_many) {
        return;
    }
    groups->count = map->count;
    for (uint32_t g = 0; g < groups->count; g++) {
        struct ft_group *group = group_at(groups, g);
        memcpy(group->values, map->keys + map->entries[g].at, map->entries[g].bytes);
        ft_sweep_settle(&group->sweep, INT64_MIN);
        ft_sweep_settle(&group->busy, INT64_MIN);
    }
    compared_keys = groups->keys;
    if (groups->count > 1) {
        qsort(groups->items, groups->count, sizeof(*groups->items), compare);
    }
}

void ft_groups_read(struct ft_groups *groups, struct ft_group_keys *keys, const struct ft_trace_set *set,
                    const struct ft_where *where)
{
    struct context context = {.groups = groups};
    struct ft_progress progress;
    memset(groups, 0, sizeof(*groups));
    groups->keys = keys;
    ft_map_init(&context.index.map);
    pthread_mutex_init(&context.index.lock, NULL);
    context.pending = ft_cli_alloc((ft_trace_set_thread_count(set) + 1) * sizeof(*context.pending));
    ft_ends_init(&context.ends, set);
    ft_progress_begin(&progress, "grouping events", ft_trace_set_events(set));
    struct ft_pass pass = {.set = set,
                           .where = where,
                           .columns = FT_COL_START | FT_COL_DUR | FT_COL_CALL | FT_COL_FILE | FT_COL_FILE2 |
                                      FT_COL_BYTES | FT_COL_NAME | FT_COL_HAS | ft_group_keys_columns(keys),
                           .progress = &progress,
                           .context = &context,
                           .begin = begin,
                           .add = add,
                           .in_turn = take_block,
                           .end = end};
    ft_pass_run(&pass);
    ft_progress_end(&progress);
    groups->bad_blocks = pass.bad_blocks;
    finish(&context);
    release(&context, set);
}

void ft_groups_fini(struct ft_groups *groups)
{
    /* Not `count`, which is 0 where they were too many. */
    for (size_t g = 0; g < groups->space; g++) {
        ft_sweep_fini(&groups->items[g].sweep);
        ft_sweep_fini(&groups->items[g].busy);
    }
    free(groups->items);
    memset(groups, 0, sizeof(*groups));
}
