// SPDX-License-Identifier: MIT
#include "client/cli/event_top.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_pass.h"
#include "client/cli/cli.h"

struct context {
    struct ft_event_top *top;
    const struct ft_event_order *order;
    size_t most;
};

/* A heap whose top is the last in order. */
struct state {
    const struct ft_pass *pass;
    const struct context *context;
    struct ft_event_place *heap;
    size_t count, space;
    uint64_t chosen;
    uint32_t block;
};

static void sift_up(struct ft_event_place *heap, size_t at)
{
    struct ft_event_place moved = heap[at];
    while (at > 0 && ft_event_place_before(&heap[(at - 1) / 2], &moved)) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = moved;
}

static void sift_down(struct ft_event_place *heap, size_t count)
{
    struct ft_event_place moved = heap[0];
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && ft_event_place_before(&heap[child], &heap[child + 1])) {
            child++;
        }
        if (!ft_event_place_before(&moved, &heap[child])) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void keep(struct state *state, const struct ft_event_place *place)
{
    size_t most = state->context->most;
    if (state->count == most) {
        if (most > 0 && ft_event_place_before(place, &state->heap[0])) {
            state->heap[0] = *place;
            sift_down(state->heap, state->count);
        }
        return;
    }
    if (state->count == state->space) {
        state->space = state->space ? state->space * 2 : 64;
        state->space = state->space < most ? state->space : most;
        state->heap = ft_cli_realloc(state->heap, state->space, sizeof(*state->heap));
    }
    state->heap[state->count] = *place;
    sift_up(state->heap, state->count++);
}

static void *begin(struct ft_pass *pass)
{
    struct state *state = ft_cli_alloc(sizeof(*state));
    *state = (struct state){.pass = pass, .context = pass->context};
    return state;
}

static void at_block(void *state_untyped, uint32_t reader, uint32_t block)
{
    struct state *state = state_untyped;
    (void)reader;
    state->block = block;
}

static void add(void *state_untyped, size_t reader, const struct ft_rows *rows)
{
    struct state *state = state_untyped;
    int64_t offset_ns = ft_trace_set_realtime_ns(state->pass->set, reader, 0);
    state->chosen += rows->count;
    for (size_t r = 0; r < rows->run_count; r++) {
        const struct ft_run *run = &rows->runs[r];
        for (size_t i = run->first, end = i + run->count; i < end; i++) {
            struct ft_event_place place = {.ts_ns = (int64_t)((uint64_t)rows->start_ns[i] + (uint64_t)offset_ns),
                                           .reader = (uint32_t)reader,
                                           .block = state->block,
                                           .row = (uint32_t)i};
            ft_event_order_value(state->context->order, reader, run->thread, rows, i, &place);
            keep(state, &place);
        }
    }
}

static void end(void *state_untyped)
{
    struct state *state = state_untyped;
    struct ft_event_top *top = state->context->top;
    if (state->count > 0) {
        top->places = ft_cli_realloc(top->places, top->count + state->count, sizeof(*top->places));
        memcpy(top->places + top->count, state->heap, state->count * sizeof(*top->places));
    }
    top->count += state->count;
    top->chosen += state->chosen;
    free(state->heap);
    free(state);
}

static int compare(const void *a, const void *b)
{
    return ft_event_place_before(a, b) ? -1 : ft_event_place_before(b, a);
}

void ft_event_top_find(struct ft_event_top *top, const struct ft_event_order *order, const struct ft_trace_set *set,
                       const struct ft_where *where, size_t most)
{
    struct context context = {.top = top, .order = order, .most = most};
    struct ft_progress progress;
    memset(top, 0, sizeof(*top));
    ft_progress_begin(&progress, "sorting events", ft_trace_set_events(set));
    struct ft_pass pass = {.set = set,
                           .where = where,
                           .columns = FT_COL_START | ft_event_order_columns(order),
                           .progress = &progress,
                           .context = &context,
                           .begin = begin,
                           .at = at_block,
                           .add = add,
                           .end = end};
    ft_pass_run(&pass);
    ft_progress_end(&progress);
    top->bad_blocks = pass.bad_blocks;
    if (top->count > 1) {
        qsort(top->places, top->count, sizeof(*top->places), compare);
    }
    top->count = top->count < most ? top->count : most;
}

static int by_block(const void *a_untyped, const void *b_untyped, void *places_untyped)
{
    const struct ft_event_place *places = places_untyped, *a = &places[*(const uint32_t *)a_untyped],
                                *b = &places[*(const uint32_t *)b_untyped];
    if (a->reader != b->reader) {
        return a->reader < b->reader ? -1 : 1;
    }
    return (a->block > b->block) - (a->block < b->block);
}

static void fetch_event(struct ft_event_top *top, const struct ft_trace_set *set, uint32_t at,
                        const struct ft_rows *rows)
{
    const struct ft_event_place *place = &top->places[at];
    struct ft_stream_event *event = &top->events[at];
    size_t r = 0;
    while (r < rows->run_count && place->row >= rows->runs[r].first + (size_t)rows->runs[r].count) {
        r++;
    }
    if (r == rows->run_count) {
        return; /* somebody wrote into the file meanwhile */
    }
    ft_rows_event(rows, place->row, rows->runs[r].thread, &event->event);
    event->reader = place->reader;
    event->ts_ns = ft_trace_set_realtime_ns(set, place->reader, rows->start_ns[place->row]);
    size_t bytes = event->event.arg_count * sizeof(*rows->args);
    if (bytes > 0) {
        struct ft_event_arg *args = ft_cli_alloc(bytes);
        memcpy(args, rows->args + event->event.first_arg, bytes);
        event->args = args;
    }
    top->is_read[at] = true;
}

/* All events of one block: those that `order` names from `from` on. Gives where the next block's begin. */
static size_t fetch_block(struct ft_event_top *top, const struct ft_trace_set *set, struct ft_trace_decoder *decoder,
                          struct ft_selector *selector, const uint32_t *order, size_t from)
{
    const struct ft_event_place *place = &top->places[order[from]];
    struct ft_rows all, chosen;
    bool is_sound = ft_cli_decoded(
        ft_trace_decoder_rows(decoder, ft_trace_set_reader(set, place->reader), place->block, FT_COL_ALL, &all));
    if (is_sound && selector->where) {
        ft_selector_pick(selector, place->reader, &all, &chosen);
    }
    top->bad_blocks += !is_sound;
    uint32_t first = order[from];
    for (; from < top->count && by_block(&order[from], &first, top->places) == 0; from++) {
        if (is_sound) {
            fetch_event(top, set, order[from], selector->where ? &chosen : &all);
        }
    }
    return from;
}

int ft_event_top_fetch(struct ft_event_top *top, const struct ft_trace_set *set, const struct ft_where *where)
{
    struct ft_trace_decoder *decoder = NULL;
    struct ft_selector selector = {0};
    int status = ft_trace_decoder_create(&decoder);
    if (status == 0 && where) {
        status = ft_selector_init(&selector, where);
    }
    if (status == 0) {
        uint32_t *order = ft_cli_alloc((top->count + 1) * sizeof(*order));
        top->events = ft_cli_alloc((top->count + 1) * sizeof(*top->events));
        top->is_read = ft_cli_alloc((top->count + 1) * sizeof(*top->is_read));
        for (uint32_t i = 0; i < top->count; i++) {
            order[i] = i;
        }
        if (top->count > 1) {
            qsort_r(order, top->count, sizeof(*order), by_block, top->places);
        }
        for (size_t from = 0; from < top->count;) {
            from = fetch_block(top, set, decoder, &selector, order, from);
        }
        free(order);
    }
    ft_selector_fini(&selector);
    ft_trace_decoder_destroy(decoder);
    return status;
}

void ft_event_top_fini(struct ft_event_top *top)
{
    for (size_t i = 0; top->events && i < top->count; i++) {
        free((void *)top->events[i].args);
    }
    free(top->events);
    free(top->is_read);
    free(top->places);
    memset(top, 0, sizeof(*top));
}
