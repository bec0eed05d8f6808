// SPDX-License-Identifier: MIT
#include "client/cli/analysis_busy.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

void ft_busy_fini(struct ft_busy *busy)
{
    free(busy->calls);
    free(busy->sorted);
    free(busy->scratch);
    free(busy->reached[0]);
    free(busy->reached[1]);
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        ft_intervals_fini(&busy->spans[kind]);
        ft_intervals_fini(&busy->whole.lists[kind]);
        ft_intervals_fini(&busy->lists[kind]);
    }
    free(busy->processes);
    memset(busy, 0, sizeof(*busy));
}

void ft_busy_begin(struct ft_busy *busy, struct ft_packed_form form, size_t rows)
{
    busy->calls_begin = busy->process_count = 0;
    busy->all_moved = 0;
    if (busy->call_space < rows + 1) { /* a call that is not wanted is written too */
        busy->call_space = rows + 1;
        busy->calls = ft_cli_realloc(busy->calls, busy->call_space, sizeof(*busy->calls));
        busy->sorted = ft_cli_realloc(busy->sorted, busy->call_space, sizeof(*busy->sorted));
        busy->scratch = ft_cli_realloc(busy->scratch, busy->call_space, sizeof(*busy->scratch));
        for (int i = 0; i < 2; i++) {
            size_t marks = busy->call_space / FT_PACKED_MARK_STEP + 1;
            busy->reached[i] = ft_cli_realloc(busy->reached[i], marks, sizeof(*busy->reached[i]));
        }
    }
    busy->writer = (struct ft_busy_writer){.form = form, .to = busy->calls};
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

void ft_busy_add_long(struct ft_busy *busy, int64_t start, int64_t end, unsigned moved)
{
    ft_busy_add_span(busy, FT_SWEEP_IO, start, end);
    if (moved) {
        ft_busy_add_span(busy, FT_SWEEP_MOVE, start, end);
    }
    if (moved & FT_PACKED_READ) {
        ft_busy_add_span(busy, FT_SWEEP_READ, start, end);
    }
    if (moved & FT_PACKED_WRITE) {
        ft_busy_add_span(busy, FT_SWEEP_WRITE, start, end);
    }
}

/* Adds one kind to a list behind what it has: spans in any order, and calls that are not to stay packed. */
static void put_normal(struct ft_intervals *to, const struct ft_intervals *spans, size_t first,
                       const struct ft_packed *calls, enum ft_sweep_kind kind)
{
    struct ft_intervals part = {0}, own = {0};
    size_t count = spans->count - first;
    if (calls) {
        ft_packed_copy(calls, kind, INT64_MIN, INT64_MAX, &part);
    }
    if (count > 0) {
        ft_intervals_reserve(&own, count);
        memcpy(own.items, spans->items + first, count * sizeof(*own.items));
        own.count = count;
        ft_intervals_normalize(&own);
    }
    ft_intervals_merge(&part, &own);
    ft_intervals_fini(&own);
    ft_intervals_reserve(to, part.count);
    if (part.count > 0) {
        memcpy(to->items + to->count, part.items, part.count * sizeof(*part.items));
        to->count += part.count;
    }
    ft_intervals_fini(&part);
}

/*
 * All lists of one process or of all: behind what `to` has. Calls stay packed where they all are: then they are moved to
 * `packed`.
 */
static void put_lists(struct ft_intervals to[FT_SWEEP_COUNT], const struct ft_busy *busy,
                      const size_t first[FT_SWEEP_COUNT], const struct ft_packed *calls, struct ft_packed *packed)
{
    bool is_packed = busy->spans[FT_SWEEP_IO].count == first[FT_SWEEP_IO];
    *packed = is_packed ? *calls : (struct ft_packed){0};
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        bool is_of_calls = kind <= FT_SWEEP_MOVE, is_side = kind == FT_SWEEP_READ || kind == FT_SWEEP_WRITE;
        bool has_some = busy->spans[kind].count > first[kind] || (is_of_calls && !is_packed);
        if (has_some && (calls->has_sides || !is_side)) {
            put_normal(&to[kind], &busy->spans[kind], first[kind], is_of_calls ? calls : NULL,
                       (enum ft_sweep_kind)kind);
        }
    }
}

struct ft_sweep_block ft_busy_process_block(const struct ft_busy *busy, size_t i)
{
    const struct ft_busy_process *process = &busy->processes[i];
    struct ft_sweep_block block = {.calls = process->calls, .totals = process->totals};
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        if (process->count[kind] > 0) {
            block.lists[kind] = (struct ft_intervals){.items = busy->lists[kind].items + process->first[kind],
                                                      .count = process->count[kind]};
        }
    }
    return block;
}

static size_t call_count(const struct ft_busy *busy)
{
    return (size_t)(busy->writer.to - busy->calls);
}

/* The calls of the process at hand, in order; they stay where they are. */
static struct ft_packed pack_process(struct ft_busy *busy)
{
    const struct ft_busy_writer *writer = &busy->writer;
    uint64_t *items = busy->calls + busy->calls_begin;
    size_t count = call_count(busy) - busy->calls_begin;
    if (writer->are_crossed && !ft_packed_is_sorted(items, count)) {
        const uint64_t *sorted = ft_packed_sort(items, count, writer->form, busy->scratch, items);
        if (sorted != items) {
            memcpy(items, sorted, count * sizeof(*items));
        }
    }
    return (struct ft_packed){.items = items,
                              .count = count,
                              .form = writer->form,
                              /* None of the others': rounded down, the sum of their marks is not above this. */
                              .reached = busy->reached[0] + busy->calls_begin / FT_PACKED_MARK_STEP,
                              .moved = (unsigned)writer->moved,
                              .are_apart = !writer->are_crossed,
                              .sum_ns = writer->sum_ns,
                              .moved_ns = writer->moved_ns};
}

static void put_process(struct ft_busy *busy, uint32_t process)
{
    if (busy->process_count == busy->process_space) {
        busy->process_space = busy->process_space ? busy->process_space * 2 : 64;
        busy->processes = ft_cli_realloc(busy->processes, busy->process_space, sizeof(*busy->processes));
    }
    struct ft_busy_process *to = &busy->processes[busy->process_count++];
    struct ft_packed calls = pack_process(busy);
    to->process = process;
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        to->first[kind] = busy->lists[kind].count;
    }
    put_lists(busy->lists, busy, busy->spans_begin, &calls, &to->calls);
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
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
    busy->calls_begin = call_count(busy);
    busy->all_moved |= busy->writer.moved;
    busy->writer = (struct ft_busy_writer){.form = busy->writer.form, .to = busy->writer.to};
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        busy->spans_begin[kind] = busy->spans[kind].count;
    }
}

/* All calls of the block in order; those of the processes stay where they are. */
static struct ft_packed pack_all(struct ft_busy *busy)
{
    size_t count = call_count(busy);
    const uint64_t *items = busy->calls;
    if (!ft_packed_is_sorted(items, count)) {
        items = ft_packed_sort(items, count, busy->writer.form, busy->sorted, busy->scratch);
    }
    return (struct ft_packed){.items = items,
                              .count = count,
                              .form = busy->writer.form,
                              .reached = busy->reached[1],
                              .moved = (unsigned)busy->all_moved,
                              .has_sides = true};
}

void ft_busy_end(struct ft_busy *busy)
{
    static const size_t from_begin[FT_SWEEP_COUNT];
    struct ft_packed calls = pack_all(busy);
    put_lists(busy->whole.lists, busy, from_begin, &calls, &busy->whole.calls);
    ft_sweep_block_measure(&busy->whole);
}
