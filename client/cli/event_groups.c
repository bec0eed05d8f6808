// SPDX-License-Identifier: MIT
#include "client/cli/event_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_pass.h"
#include "client/cli/cli.h"

enum { FIRST_SLOTS = 64, BATCH = 16 };

/*
 * Groups of one thread, and of all at the end. There may be a million, each looked for at random: what is read for an event is
 * one slot and one item. Slots hold a group + 1: of one key by its value, whose numbers are small; of several by a hash.
 */
struct table {
    uint32_t *slots;
    size_t slot_count, key_count;
    struct ft_event_group *items;
    size_t count, space;
    bool is_full;
};

struct context {
    const struct ft_group_keys *keys;
    struct table all;
};

struct state {
    struct context *context;
    struct table own;
};

static void table_init(struct table *table, const struct ft_group_keys *keys)
{
    *table =
        (struct table){.slot_count = keys->count == 1 ? keys->value_count + 1 : FIRST_SLOTS, .key_count = keys->count};
    table->slots = ft_cli_alloc(table->slot_count * sizeof(*table->slots));
}

static void table_fini(struct table *table)
{
    free(table->slots);
    free(table->items);
    memset(table, 0, sizeof(*table));
}

static uint64_t hash_of(const struct table *table, const uint32_t *values)
{
    return table->key_count == 1 ? values[0] : ft_map_hash(values, table->key_count * sizeof(*values));
}

/* Of several keys their count is a power of two; the value of one key is below it. */
static size_t place_of(const struct table *table, uint64_t hash)
{
    return table->key_count == 1 ? (size_t)hash : (size_t)hash & (table->slot_count - 1);
}

static bool has_values(const struct table *table, uint32_t group, const uint32_t *values)
{
    size_t k = 0;
    while (k < table->key_count && table->items[group].values[k] == values[k]) {
        k++;
    }
    return k == table->key_count;
}

/* The slot of the values, or the free one where they would stand. */
static uint32_t *slot_of(const struct table *table, const uint32_t *values, uint64_t hash)
{
    size_t at = place_of(table, hash);
    while (table->slots[at] && !has_values(table, table->slots[at] - 1, values)) {
        at = place_of(table, at + 1);
    }
    return &table->slots[at];
}

static void grow_slots(struct table *table)
{
    free(table->slots);
    table->slot_count *= 2;
    table->slots = ft_cli_alloc(table->slot_count * sizeof(*table->slots));
    for (size_t g = 0; g < table->count; g++) {
        size_t at = place_of(table, hash_of(table, table->items[g].values));
        while (table->slots[at]) {
            at = place_of(table, at + 1);
        }
        table->slots[at] = (uint32_t)g + 1;
    }
}

static struct ft_event_group *add_group(struct table *table, uint32_t *slot, const uint32_t *values)
{
    if (table->count == FT_EVENT_GROUPS_MAX) {
        table->is_full = true;
        return NULL;
    }
    if (table->count == table->space) {
        table->space = table->space ? table->space * 2 : 64;
        table->items = ft_cli_realloc(table->items, table->space, sizeof(*table->items));
    }
    struct ft_event_group *group = &table->items[table->count];
    *group = (struct ft_event_group){.count = 0};
    memcpy(group->values, values, table->key_count * sizeof(*values));
    *slot = (uint32_t)++table->count;
    return group;
}

/* NULL where there are too many. */
static struct ft_event_group *group_of(struct table *table, const uint32_t *values, uint64_t hash)
{
    if (table->is_full) {
        return NULL;
    }
    if (table->key_count > 1 && (table->count + 1) * 2 > table->slot_count) {
        grow_slots(table);
    }
    uint32_t *slot = slot_of(table, values, hash);
    return *slot ? &table->items[*slot - 1] : add_group(table, slot, values);
}

static void add_to(struct ft_event_group *group, const struct ft_rows *rows, size_t i)
{
    bool has_time = rows->kind[i] == FT_EVENT_CALL || rows->kind[i] == FT_EVENT_SPAN;
    group->count++;
    group->bytes += rows->has[i] & FT_HAS_BYTES ? rows->bytes[i] : 0;
    group->time_ns += has_time && rows->dur_ns[i] > 0 ? (uint64_t)rows->dur_ns[i] : 0;
}

/* Some rows of a thread together: memory that the later ones need is on its way while the first ones are added. */
static void add_batch(struct state *state, size_t reader, uint32_t thread, const struct ft_rows *rows, size_t first,
                      size_t count)
{
    struct table *own = &state->own;
    uint32_t values[BATCH][FT_GROUP_KEYS_MAX];
    uint64_t hashes[BATCH];
    for (size_t b = 0; b < count; b++) {
        ft_group_keys_row(state->context->keys, reader, thread, rows, first + b, values[b]);
        hashes[b] = hash_of(own, values[b]);
        __builtin_prefetch(&own->slots[place_of(own, hashes[b])]);
    }
    for (size_t b = 0; b < count; b++) {
        uint32_t likely = own->slots[place_of(own, hashes[b])];
        if (likely) {
            __builtin_prefetch(&own->items[likely - 1], 1);
        }
    }
    for (size_t b = 0; b < count; b++) {
        struct ft_event_group *group = group_of(own, values[b], hashes[b]);
        if (group) {
            add_to(group, rows, first + b);
        }
    }
}

static void add(void *state_untyped, size_t reader, const struct ft_rows *rows)
{
    for (size_t r = 0; r < rows->run_count; r++) {
        const struct ft_run *run = &rows->runs[r];
        for (size_t i = run->first, end = i + run->count; i < end; i += BATCH) {
            add_batch(state_untyped, reader, run->thread, rows, i, end - i < BATCH ? end - i : BATCH);
        }
    }
}

static void *begin(struct ft_pass *pass)
{
    struct state *state = ft_cli_alloc(sizeof(*state));
    state->context = pass->context;
    table_init(&state->own, state->context->keys);
    return state;
}

static void end(void *state_untyped)
{
    struct state *state = state_untyped;
    struct table *all = &state->context->all;
    all->is_full |= state->own.is_full;
    if (all->count == 0) { /* the first one has no need to be copied */
        struct table own = state->own;
        state->own = *all;
        own.is_full = all->is_full;
        *all = own;
    }
    for (size_t g = 0; g < state->own.count && !all->is_full; g++) {
        const struct ft_event_group *from = &state->own.items[g];
        struct ft_event_group *to = group_of(all, from->values, hash_of(all, from->values));
        if (to) {
            to->count += from->count;
            to->bytes += from->bytes;
            to->time_ns += from->time_ns;
        }
    }
    table_fini(&state->own);
    free(state);
}

void ft_event_groups_read(struct ft_event_groups *groups, const struct ft_group_keys *keys,
                          const struct ft_trace_set *set, const struct ft_where *where)
{
    struct context context = {.keys = keys};
    struct ft_progress progress;
    table_init(&context.all, keys);
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
                                       .count = context.all.is_full ? 0 : context.all.count,
                                       .are_too_many = context.all.is_full,
                                       .bad_blocks = pass.bad_blocks};
    context.all.items = NULL;
    table_fini(&context.all);
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
