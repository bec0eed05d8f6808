// SPDX-License-Identifier: MIT
#include "client/cli/event_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_pass.h"
#include "client/cli/cli.h"

enum { CACHE_SLOTS = 1024 };

struct cached {
    uint32_t values[FT_GROUP_KEYS_MAX];
    uint32_t group; /* + 1 */
};

/* Groups of one thread, and of all at the end. The map's keys are values, its entries in the order of `items`. */
struct table {
    struct ft_map map;
    struct ft_event_group *items;
    size_t space;
    bool is_full;
};

struct context {
    const struct ft_group_keys *keys;
    struct table all;
};

struct state {
    struct context *context;
    struct table own;
    struct cached cache[CACHE_SLOTS];
};

/* NULL where there are too many. */
static struct ft_event_group *group_of(struct table *table, const uint32_t *values, size_t key_count)
{
    bool is_new;
    if (table->is_full) {
        return NULL;
    }
    uint32_t at = ft_map_intern(&table->map, values, key_count * sizeof(*values), (uint32_t)table->map.count, &is_new);
    if (is_new && at == FT_EVENT_GROUPS_MAX) {
        table->is_full = true;
        return NULL;
    }
    if (is_new) {
        if (at == table->space) {
            table->space = table->space ? table->space * 2 : 64;
            table->items = ft_cli_realloc(table->items, table->space, sizeof(*table->items));
        }
        table->items[at] = (struct ft_event_group){.count = 0};
        memcpy(table->items[at].values, values, key_count * sizeof(*values));
    }
    return &table->items[at];
}

static void release(struct table *table)
{
    ft_map_fini(&table->map);
    free(table->items);
}

static struct cached *slot_of(struct state *state, const uint32_t *values, size_t key_count)
{
    uint64_t hash = 0;
    for (size_t k = 0; k < key_count; k++) {
        hash = (hash ^ values[k]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return &state->cache[(hash >> 40) % CACHE_SLOTS];
}

static struct ft_event_group *find(struct state *state, const uint32_t *values, size_t key_count)
{
    struct cached *slot = slot_of(state, values, key_count);
    if (slot->group && memcmp(slot->values, values, key_count * sizeof(*values)) == 0) {
        return &state->own.items[slot->group - 1];
    }
    struct ft_event_group *group = group_of(&state->own, values, key_count);
    if (group) {
        memcpy(slot->values, values, key_count * sizeof(*values));
        slot->group = (uint32_t)(group - state->own.items) + 1;
    }
    return group;
}

static void add_to(struct ft_event_group *group, const struct ft_rows *rows, size_t i)
{
    bool has_time = rows->kind[i] == FT_EVENT_CALL || rows->kind[i] == FT_EVENT_SPAN;
    group->count++;
    group->bytes += rows->has[i] & FT_HAS_BYTES ? rows->bytes[i] : 0;
    group->time_ns += has_time && rows->dur_ns[i] > 0 ? (uint64_t)rows->dur_ns[i] : 0;
}

static void add(void *state_untyped, size_t reader, const struct ft_rows *rows)
{
    struct state *state = state_untyped;
    const struct ft_group_keys *keys = state->context->keys;
    for (size_t r = 0; r < rows->run_count; r++) {
        const struct ft_run *run = &rows->runs[r];
        for (size_t i = run->first, end = i + run->count; i < end; i++) {
            uint32_t values[FT_GROUP_KEYS_MAX];
            ft_group_keys_row(keys, reader, run->thread, rows, i, values);
            struct ft_event_group *group = find(state, values, keys->count);
            if (group) {
                add_to(group, rows, i);
            }
        }
    }
}

static void *begin(struct ft_pass *pass)
{
    struct state *state = ft_cli_alloc(sizeof(*state));
    state->context = pass->context;
    ft_map_init(&state->own.map);
    return state;
}

static void end(void *state_untyped)
{
    struct state *state = state_untyped;
    struct table *all = &state->context->all;
    all->is_full |= state->own.is_full;
    for (size_t g = 0; g < state->own.map.count && !all->is_full; g++) {
        const struct ft_event_group *from = &state->own.items[g];
        struct ft_event_group *to = group_of(all, from->values, state->context->keys->count);
        if (to) {
            to->count += from->count;
            to->bytes += from->bytes;
            to->time_ns += from->time_ns;
        }
    }
    release(&state->own);
    free(state);
}

void ft_event_groups_read(struct ft_event_groups *groups, const struct ft_group_keys *keys,
                          const struct ft_trace_set *set, const struct ft_where *where)
{
    struct context context = {.keys = keys};
    struct ft_progress progress;
    ft_map_init(&context.all.map);
    ft_progress_begin(&progress, "grouping events", ft_trace_set_events(set));
    struct ft_pass pass = {.set = set,
                           .where = where,
                           .columns =
                               FT_COL_CALL | FT_COL_DUR | FT_COL_BYTES | FT_COL_HAS | ft_group_keys_columns(keys),
                           .progress = &progress,
                           .context = &context,
                           .begin = begin,
                           .add = add,
                           .end = end};
    ft_pass_run(&pass);
    ft_progress_end(&progress);
    *groups = (struct ft_event_groups){.keys = keys,
                                       .items = context.all.items,
                                       .count = context.all.is_full ? 0 : context.all.map.count,
                                       .are_too_many = context.all.is_full,
                                       .bad_blocks = pass.bad_blocks};
    context.all.items = NULL;
    release(&context.all);
}

void ft_event_groups_fini(struct ft_event_groups *groups)
{
    free(groups->items);
    memset(groups, 0, sizeof(*groups));
}

enum figure { BY_KEYS, BY_COUNT, BY_BYTES, BY_TIME, BY_ONE_KEY };

struct order {
    const struct ft_group_keys *keys;
    enum figure figure;
    size_t key;
    bool is_descending;
};

static int parse_order(struct order *order, const struct ft_group_keys *keys, const char *by)
{
    static const char *const figures[] = {[BY_COUNT] = "count", [BY_BYTES] = "bytes", [BY_TIME] = "time"};
    *order = (struct order){.keys = keys, .figure = BY_KEYS};
    if (!by) {
        return 0;
    }
    order->is_descending = by[0] == '-';
    by += order->is_descending;
    for (enum figure figure = BY_COUNT; figure <= BY_TIME; figure++) {
        if (strcmp(figures[figure], by) == 0) {
            order->figure = figure;
            return 0;
        }
    }
    order->figure = BY_ONE_KEY;
    for (size_t k = 0; k < keys->count; k++) {
        if (strcmp(keys->keys[k].name, by) == 0) {
            order->key = k;
            return 0;
        }
    }
    return -EINVAL;
}

static uint64_t figure_of(const struct ft_event_group *group, enum figure figure)
{
    return figure == BY_COUNT ? group->count : figure == BY_BYTES ? group->bytes : group->time_ns;
}

static int compare(const void *a_untyped, const void *b_untyped, void *order_untyped)
{
    const struct ft_event_group *a = a_untyped, *b = b_untyped;
    const struct order *order = order_untyped;
    int difference = 0;
    if (order->figure == BY_ONE_KEY) {
        difference = ft_group_keys_compare(order->keys, a->values[order->key], b->values[order->key]);
    } else if (order->figure != BY_KEYS) {
        uint64_t x = figure_of(a, order->figure), y = figure_of(b, order->figure);
        difference = (x > y) - (x < y);
    }
    difference = order->is_descending ? -difference : difference;
    for (size_t k = 0; k < order->keys->count && difference == 0; k++) {
        difference = ft_group_keys_compare(order->keys, a->values[k], b->values[k]);
    }
    return difference;
}

bool ft_event_groups_sorts(const struct ft_group_keys *keys, const char *by)
{
    struct order order;
    return parse_order(&order, keys, by) == 0;
}

int ft_event_groups_sort(struct ft_event_groups *groups, const char *by)
{
    struct order order;
    int status = parse_order(&order, groups->keys, by);
    if (status == 0 && groups->count > 1) {
        qsort_r(groups->items, groups->count, sizeof(*groups->items), compare, &order);
    }
    return status;
}
