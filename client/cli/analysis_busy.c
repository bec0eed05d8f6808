// SPDX-License-Identifier: MIT
#include "client/cli/analysis_busy.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

void ft_busy_fini(struct ft_busy *busy)
{
    ft_intervals_fini(&busy->calls);
    ft_intervals_fini(&busy->scratch);
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        ft_intervals_fini(&busy->spans[kind]);
        ft_intervals_fini(&busy->whole.lists[kind]);
        ft_intervals_fini(&busy->lists[kind]);
    }
    free(busy->processes);
    memset(busy, 0, sizeof(*busy));
}

void ft_busy_begin(struct ft_busy *busy, int64_t base_ns, size_t rows)
{
    busy->base_ns = base_ns;
    busy->calls.count = busy->calls_begin = 0;
    busy->process_count = 0;
    ft_intervals_reserve(&busy->calls, rows + 1); /* a call that is not wanted is written too */
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        busy->spans[kind].count = busy->spans_begin[kind] = 0;
        busy->whole.lists[kind].count = busy->lists[kind].count = 0;
    }
}

void ft_busy_add_span(struct ft_busy *busy, enum ft_sweep_kind kind, int64_t start, int64_t end)
{
    if (end > start) {
        ft_intervals_append(&busy->spans[kind], start, end);
    }
}

/* Puts what it gets in order of start behind a list, joined. The last one is held back, for it may grow. */
struct joiner {
    struct ft_interval *items;
    size_t count;
    int64_t start, end; /* end INT64_MIN: there was none yet */
};

static struct joiner begin_joining(struct ft_intervals *list, size_t count)
{
    ft_intervals_reserve(list, count + 1);
    return (struct joiner){.items = list->items + list->count, .end = INT64_MIN};
}

static inline __attribute__((always_inline)) void join(struct joiner *joiner, int64_t start, int64_t end,
                                                       bool is_wanted)
{
    bool is_new = is_wanted & (start > joiner->end);
    int64_t longer = end > joiner->end ? end : joiner->end;
    joiner->items[joiner->count] = (struct ft_interval){.start = joiner->start, .end = joiner->end};
    joiner->count += is_new & (joiner->end != INT64_MIN);
    joiner->start = is_new ? start : joiner->start;
    joiner->end = is_wanted ? longer : joiner->end;
}

static void end_joining(struct joiner *joiner, struct ft_intervals *list, int64_t base_ns)
{
    joiner->items[joiner->count] = (struct ft_interval){.start = joiner->start, .end = joiner->end};
    joiner->count += joiner->end != INT64_MIN;
    for (size_t i = 0; i < joiner->count; i++) {
        joiner->items[i].start += base_ns;
        joiner->items[i].end += base_ns;
    }
    list->count += joiner->count;
}

static bool is_ordered(const struct ft_intervals *list, size_t first)
{
    size_t descents = 0;
    for (size_t i = first + 1; i < list->count; i++) {
        descents += list->items[i].start < list->items[i - 1].start;
    }
    return descents == 0;
}

static void order(struct ft_busy *busy, size_t first)
{
    if (!is_ordered(&busy->calls, first)) {
        ft_intervals_sort(&busy->calls, first, &busy->scratch);
    }
}

/* IO and MOVE of the process at hand. */
static void join_process_calls(struct ft_busy *busy)
{
    size_t begin = busy->calls_begin, end = busy->calls.count;
    struct joiner io = begin_joining(&busy->lists[FT_SWEEP_IO], end - begin);
    struct joiner move = begin_joining(&busy->lists[FT_SWEEP_MOVE], end - begin);
    order(busy, begin);
    for (size_t i = begin; i < end; i++) {
        struct ft_interval call = busy->calls.items[i];
        int64_t from = call.start >> FT_BUSY_BITS, to = call.end >> FT_BUSY_BITS;
        join(&io, from, to, true);
        join(&move, from, to, call.start & (FT_BUSY_READ | FT_BUSY_WRITE));
    }
    end_joining(&io, &busy->lists[FT_SWEEP_IO], busy->base_ns);
    end_joining(&move, &busy->lists[FT_SWEEP_MOVE], busy->base_ns);
}

static void join_process_spans(struct ft_busy *busy, int kind)
{
    struct ft_intervals spans = {0};
    struct ft_intervals part = {.items = busy->spans[kind].items + busy->spans_begin[kind],
                                .count = busy->spans[kind].count - busy->spans_begin[kind]};
    if (part.count == 0) {
        return;
    }
    ft_intervals_merge(&spans, &part);
    ft_intervals_reserve(&busy->lists[kind], spans.count);
    memcpy(busy->lists[kind].items + busy->lists[kind].count, spans.items, spans.count * sizeof(*spans.items));
    busy->lists[kind].count += spans.count;
    ft_intervals_fini(&spans);
}

struct ft_sweep_block ft_busy_process_block(const struct ft_busy *busy, size_t i)
{
    const struct ft_busy_process *process = &busy->processes[i];
    struct ft_sweep_block block = {.totals = process->totals};
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        if (process->count[kind] > 0) {
            block.lists[kind] = (struct ft_intervals){.items = busy->lists[kind].items + process->first[kind],
                                                      .count = process->count[kind]};
        }
    }
    return block;
}

static void put_process(struct ft_busy *busy, uint32_t process)
{
    if (busy->process_count == busy->process_space) {
        busy->process_space = busy->process_space ? busy->process_space * 2 : 64;
        busy->processes = ft_cli_realloc(busy->processes, busy->process_space, sizeof(*busy->processes));
    }
    struct ft_busy_process *to = &busy->processes[busy->process_count++];
    to->process = process;
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        to->first[kind] = busy->lists[kind].count;
    }
    join_process_calls(busy);
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        join_process_spans(busy, kind);
        to->count[kind] = busy->lists[kind].count - to->first[kind];
    }
    struct ft_sweep_block block = ft_busy_process_block(busy, busy->process_count - 1);
    ft_sweep_block_measure(&block);
    to->totals = block.totals;
}

void ft_busy_end_process(struct ft_busy *busy, uint32_t process)
{
    if (busy->has_processes && process != UINT32_MAX) {
        put_process(busy, process);
    }
    busy->calls_begin = busy->calls.count;
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        busy->spans_begin[kind] = busy->spans[kind].count;
    }
}

void ft_busy_end(struct ft_busy *busy)
{
    size_t count = busy->calls.count;
    struct joiner io = begin_joining(&busy->whole.lists[FT_SWEEP_IO], count);
    struct joiner read = begin_joining(&busy->whole.lists[FT_SWEEP_READ], count);
    struct joiner write = begin_joining(&busy->whole.lists[FT_SWEEP_WRITE], count);
    struct joiner move = begin_joining(&busy->whole.lists[FT_SWEEP_MOVE], count);
    order(busy, 0);
    for (size_t i = 0; i < count; i++) {
        struct ft_interval call = busy->calls.items[i];
        int64_t from = call.start >> FT_BUSY_BITS, to = call.end >> FT_BUSY_BITS;
        join(&io, from, to, true);
        join(&read, from, to, call.start & FT_BUSY_READ);
        join(&write, from, to, call.start & FT_BUSY_WRITE);
        join(&move, from, to, call.start & (FT_BUSY_READ | FT_BUSY_WRITE));
    }
    end_joining(&io, &busy->whole.lists[FT_SWEEP_IO], busy->base_ns);
    end_joining(&read, &busy->whole.lists[FT_SWEEP_READ], busy->base_ns);
    end_joining(&write, &busy->whole.lists[FT_SWEEP_WRITE], busy->base_ns);
    end_joining(&move, &busy->whole.lists[FT_SWEEP_MOVE], busy->base_ns);
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        ft_intervals_normalize(&busy->spans[kind]);
        if (busy->spans[kind].count > 0) {
            ft_intervals_merge(&busy->whole.lists[kind], &busy->spans[kind]);
        }
    }
    ft_sweep_block_measure(&busy->whole);
}
