// SPDX-License-Identifier: MIT
#include "client/cli/analysis_timeline.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_count.h"
#include "client/cli/analysis_intervals.h"
#include "client/cli/analysis_timeline_categories.h"
#include "client/cli/cli.h"

enum { IO, COMPUTE, LIST_COUNT };

struct state {
    struct ft_pass *pass;
    struct ft_timeline *timeline;
    struct ft_timeline_bin *bins;
    const struct ft_interval *window;      /* of the process at hand; NULL: all of the time */
    struct ft_intervals lists[LIST_COUNT]; /* of the block at hand */
    struct ft_intervals *pending;          /* of all blocks: what is not final */
    struct ft_categories_block categories;
    int64_t first_ns, last_ns; /* of the events; for the span alone */
};

struct context {
    struct ft_timeline *timeline;
    struct ft_intervals pending[LIST_COUNT];
    struct ft_categories categories;
    bool has_categories;
    const struct ft_interval *windows;
    int64_t first_ns, last_ns;
};

size_t ft_timeline_bin_of(const struct ft_timeline *timeline, int64_t time_ns)
{
    if (time_ns <= timeline->start_ns) {
        return 0;
    }
    uint64_t bin = ((uint64_t)time_ns - (uint64_t)timeline->start_ns) / (uint64_t)timeline->width_ns;
    return bin < timeline->count ? (size_t)bin : timeline->count - 1;
}

int64_t ft_timeline_bin_end(const struct ft_timeline *timeline, size_t bin)
{
    return bin + 1 == timeline->count ? INT64_MAX : timeline->start_ns + (int64_t)(bin + 1) * timeline->width_ns;
}

int64_t ft_timeline_length(const struct ft_timeline *timeline, size_t bin)
{
    int64_t start_ns = timeline->start_ns + (int64_t)bin * timeline->width_ns;
    return timeline->end_ns - start_ns < timeline->width_ns ? timeline->end_ns - start_ns : timeline->width_ns;
}

static void add_sum(struct ft_timeline_sum *to, const struct ft_timeline_sum *from)
{
    to->calls += from->calls;
    to->bytes += from->bytes;
    to->time_ns += from->time_ns;
}

void ft_timeline_bin_add(struct ft_timeline_bin *to, const struct ft_timeline_bin *from)
{
    add_sum(&to->read, &from->read);
    add_sum(&to->write, &from->write);
    add_sum(&to->metadata, &from->metadata);
    to->requests += from->requests;
    to->request_bytes += from->request_bytes;
    to->io_ns += from->io_ns;
    to->compute_ns += from->compute_ns;
    to->overlap_ns += from->overlap_ns;
}

/* A call of one bin or of several. `moved`: of these bytes, what went which way. */
struct call {
    unsigned mask, moved; /* of FT_COUNT_* */
    int64_t start_ns, dur_ns;
    uint64_t bytes;
};

static void add_share(struct ft_timeline_bin *bin, const struct call *call, uint64_t bytes, uint64_t time_ns)
{
    bin->read.bytes += call->moved & FT_COUNT_READ ? bytes : 0;
    bin->write.bytes += call->moved & FT_COUNT_WRITE ? bytes : 0;
    bin->read.time_ns += call->mask & FT_COUNT_READ ? time_ns : 0;
    bin->write.time_ns += call->mask & FT_COUNT_WRITE ? time_ns : 0;
    bin->metadata.time_ns += call->mask & FT_COUNT_METADATA ? time_ns : 0;
}

/* What was moved up to a bin's end, rounded down; each bin has what is new since the one before. */
static void spread(struct state *state, const struct call *call, size_t bin)
{
    uint64_t bytes_before = 0, time_before = 0;
    for (uint64_t dur = (uint64_t)call->dur_ns; bin < state->timeline->count; bin++) {
        bool ends_here = bin + 1 == state->timeline->count ||
                         ft_timeline_bin_end(state->timeline, bin) - call->start_ns >= call->dur_ns;
        uint64_t time_ns = ends_here ? dur : (uint64_t)(ft_timeline_bin_end(state->timeline, bin) - call->start_ns);
        uint64_t bytes = time_ns == dur ? call->bytes : (uint64_t)((unsigned __int128)call->bytes * time_ns / dur);
        add_share(&state->bins[bin], call, bytes - bytes_before, time_ns - time_before);
        bytes_before = bytes;
        time_before = time_ns;
        if (time_ns == dur) {
            return;
        }
    }
}

static void add_to_union(struct state *state, int64_t start_ns, int64_t end_ns)
{
    const struct ft_interval *window = state->window;
    if (window) {
        start_ns = start_ns > window->start ? start_ns : window->start;
        end_ns = end_ns < window->end ? end_ns : window->end;
    }
    ft_intervals_add(&state->lists[IO], start_ns, end_ns);
}

static void add_call(struct state *state, const struct call *call)
{
    size_t first = ft_timeline_bin_of(state->timeline, call->start_ns);
    struct ft_timeline_bin *bin = &state->bins[first];
    bin->read.calls += (call->mask & FT_COUNT_READ) != 0;
    bin->write.calls += (call->mask & FT_COUNT_WRITE) != 0;
    bin->metadata.calls += (call->mask & FT_COUNT_METADATA) != 0;
    if (call->mask & (FT_COUNT_READ | FT_COUNT_WRITE)) {
        bin->requests++;
        bin->request_bytes += call->bytes;
    }
    add_to_union(state, call->start_ns, call->start_ns + call->dur_ns);
    if (call->start_ns + call->dur_ns <= ft_timeline_bin_end(state->timeline, first)) {
        add_share(bin, call, call->bytes, (uint64_t)call->dur_ns);
    } else {
        spread(state, call, first);
    }
}

static void add_row(struct state *state, size_t reader, const struct ft_rows *rows, size_t i, int64_t start_ns)
{
    const struct ft_pass *pass = state->pass;
    if (rows->kind[i] == FT_EVENT_SPAN) {
        struct ft_bytes category = ft_trace_reader_name(ft_trace_set_reader(pass->set, reader), rows->category[i]);
        if (category.len == strlen("compute") && memcmp(category.data, "compute", category.len) == 0) {
            ft_intervals_add(&state->lists[COMPUTE], start_ns, start_ns + rows->dur_ns[i]);
        }
    }
    if (rows->kind[i] != FT_EVENT_CALL) {
        return;
    }
    struct call call = {.mask = ft_pass_mask(pass, reader, rows, i) & FT_COUNT_IO,
                        .start_ns = start_ns,
                        .dur_ns = rows->dur_ns[i],
                        .bytes = rows->bytes[i]};
    if (call.mask) {
        unsigned id = rows->call[i] < FT_TRACE_CALL_MAX ? rows->call[i] : 0;
        unsigned stream = call.mask & FT_COUNT_METADATA ? pass->calls[reader][id].stream : 0;
        call.moved = (call.mask & (FT_COUNT_READ | FT_COUNT_WRITE)) | stream;
        add_call(state, &call);
    }
}

static void add_rows(void *state_untyped, size_t reader, const struct ft_rows *rows)
{
    struct state *state = state_untyped;
    int64_t offset_ns = ft_trace_set_realtime_ns(state->pass->set, reader, 0);
    for (int kind = 0; kind < LIST_COUNT; kind++) {
        state->lists[kind].count = 0;
    }
    const struct context *context = state->pass->context;
    for (size_t r = 0; r < rows->run_count; r++) {
        const struct ft_run *run = &rows->runs[r];
        uint32_t process = ft_trace_set_process_of_thread(state->pass->set, reader, run->thread);
        state->window = context->windows && process != FT_TRACE_SET_NONE ? &context->windows[process] : NULL;
        for (size_t i = run->first, end = i + run->count; i < end; i++) {
            add_row(state, reader, rows, i, rows->start_ns[i] + offset_ns);
        }
    }
    for (int kind = 0; kind < LIST_COUNT; kind++) {
        ft_intervals_normalize(&state->lists[kind]);
    }
    if (context->has_categories) {
        ft_categories_block_read(&state->categories, state->pass->set, reader, rows);
    }
}

static void add_sums(void *state_untyped, size_t reader, const struct ft_rows *rows)
{
    struct state *state = state_untyped;
    ft_timeline_add_sums(state->timeline, state->bins, state->pass, reader, rows);
}

/* Intervals above the watermark, which are final, leave the list; one that reaches over it is cut there. */
static struct ft_intervals cut(struct ft_intervals *list, int64_t watermark_ns)
{
    struct ft_intervals above = {0};
    size_t from = ft_intervals_above(list, watermark_ns);
    for (size_t i = from; i < list->count; i++) {
        struct ft_interval one = list->items[i];
        ft_intervals_append(&above, one.start < watermark_ns ? watermark_ns : one.start, one.end);
    }
    if (from < list->count && list->items[from].start < watermark_ns) {
        list->items[from].end = watermark_ns;
        list->count = from + 1;
    } else {
        list->count = from;
    }
    return above;
}

/* Adds a normal list to one of the bins' unions. */
static void add_union(const struct ft_timeline *timeline, const struct ft_intervals *list, size_t at)
{
    for (size_t i = 0; i < list->count; i++) {
        int64_t from_ns = list->items[i].start, end_ns = list->items[i].end;
        for (size_t bin = ft_timeline_bin_of(timeline, from_ns); from_ns < end_ns; bin++) {
            int64_t until_ns =
                end_ns < ft_timeline_bin_end(timeline, bin) ? end_ns : ft_timeline_bin_end(timeline, bin);
            *(int64_t *)(void *)((char *)&timeline->bins[bin] + at) += until_ns - from_ns;
            from_ns = until_ns;
        }
    }
}

static void settle(void *state_untyped, int64_t watermark_ns)
{
    struct state *state = state_untyped;
    struct context *context = state->pass->context;
    struct ft_intervals above[LIST_COUNT];
    if (context->has_categories) {
        ft_categories_take(&context->categories, &state->categories);
    }
    for (int kind = 0; kind < LIST_COUNT; kind++) {
        ft_intervals_merge(&state->pending[kind], &state->lists[kind]);
        above[kind] = cut(&state->pending[kind], watermark_ns);
    }
    struct ft_intervals both = ft_intervals_intersect(&above[IO], &above[COMPUTE]);
    add_union(state->timeline, &above[IO], offsetof(struct ft_timeline_bin, io_ns));
    add_union(state->timeline, &above[COMPUTE], offsetof(struct ft_timeline_bin, compute_ns));
    add_union(state->timeline, &both, offsetof(struct ft_timeline_bin, overlap_ns));
    ft_intervals_fini(&above[IO]);
    ft_intervals_fini(&above[COMPUTE]);
    ft_intervals_fini(&both);
}

static void *begin(struct ft_pass *pass)
{
    struct context *context = pass->context;
    struct state *state = ft_cli_alloc(sizeof(*state));
    *state = (struct state){.pass = pass,
                            .timeline = context->timeline,
                            .pending = context->pending,
                            .bins = ft_cli_alloc(context->timeline->count * sizeof(*state->bins)),
                            .first_ns = INT64_MAX,
                            .last_ns = INT64_MIN};
    return state;
}

static void end(void *state_untyped)
{
    struct state *state = state_untyped;
    struct context *context = state->pass->context;
    for (size_t i = 0; i < state->timeline->count; i++) {
        ft_timeline_bin_add(&state->timeline->bins[i], &state->bins[i]);
    }
    context->first_ns = state->first_ns < context->first_ns ? state->first_ns : context->first_ns;
    context->last_ns = state->last_ns > context->last_ns ? state->last_ns : context->last_ns;
    for (int kind = 0; kind < LIST_COUNT; kind++) {
        ft_intervals_fini(&state->lists[kind]);
    }
    ft_categories_block_fini(&state->categories);
    free(state->bins);
    free(state);
}

static void add_span(void *state_untyped, size_t reader, const struct ft_rows *rows)
{
    struct state *state = state_untyped;
    for (size_t i = 0; i < rows->count; i++) {
        int64_t start_ns = ft_trace_set_realtime_ns(state->pass->set, reader, rows->start_ns[i]);
        int64_t end_ns = start_ns + rows->dur_ns[i];
        state->first_ns = start_ns < state->first_ns ? start_ns : state->first_ns;
        state->last_ns = end_ns > state->last_ns ? end_ns : state->last_ns;
    }
}

/* The time of the events that are chosen; of the whole trace where all are. */
static void find_span(struct ft_timeline *timeline, const struct ft_trace_set *set, const struct ft_where *where)
{
    struct context context = {.timeline = timeline, .first_ns = INT64_MAX, .last_ns = INT64_MIN};
    if (!where) {
        ft_trace_set_span(set, &timeline->start_ns, &timeline->end_ns);
        return;
    }
    struct ft_pass pass = {.set = set,
                           .where = where,
                           .columns = FT_COL_START | FT_COL_DUR,
                           .context = &context,
                           .begin = begin,
                           .add = add_span,
                           .end = end};
    ft_pass_run(&pass);
    if (context.first_ns <= context.last_ns) {
        timeline->start_ns = context.first_ns;
        timeline->end_ns = context.last_ns;
    }
}

/* How many bins of that width it takes, the last one of which may be shorter. */
static int64_t count_of(int64_t span_ns, int64_t width_ns)
{
    return span_ns / width_ns + (span_ns % width_ns != 0);
}

static int64_t round_width(int64_t span_ns, uint64_t bins_most)
{
    static const int64_t steps[] = {1, 2, 5};
    int64_t width_ns = 1, power = 1;
    for (int i = 0; (uint64_t)count_of(span_ns, width_ns) > bins_most; i = (i + 1) % 3) {
        power = i == 2 ? power * 10 : power; /* two bins of 5e18 hold any span */
        width_ns = power * steps[(i + 1) % 3];
    }
    return width_ns;
}

static int divide(struct ft_timeline *timeline, const struct ft_timeline_wish *wish)
{
    int64_t span_ns;
    if (wish->bins > FT_TIMELINE_BINS_MAX || __builtin_sub_overflow(timeline->end_ns, timeline->start_ns, &span_ns)) {
        return -ERANGE;
    }
    if (wish->width_ns > 0) {
        timeline->width_ns = wish->width_ns;
    } else if (wish->bins > 0) {
        timeline->width_ns = span_ns / (int64_t)wish->bins + (span_ns % (int64_t)wish->bins != 0);
    } else {
        timeline->width_ns = round_width(span_ns, wish->bins_most);
    }
    timeline->width_ns = timeline->width_ns > 0 ? timeline->width_ns : 1;
    int64_t count = count_of(span_ns, timeline->width_ns);
    if (count > FT_TIMELINE_BINS_MAX) {
        return -ERANGE;
    }
    timeline->count = count > 0 ? (size_t)count : 1;
    return 0;
}

int ft_timeline_read(struct ft_timeline *timeline, const struct ft_trace_set *set, const struct ft_where *where,
                     const struct ft_timeline_wish *wish)
{
    struct context context = {.timeline = timeline,
                              .first_ns = INT64_MAX,
                              .last_ns = INT64_MIN,
                              .windows = wish->windows,
                              .has_categories = !wish->without_categories};
    struct ft_progress progress;
    memset(timeline, 0, sizeof(*timeline));
    find_span(timeline, set, where);
    int status = divide(timeline, wish);
    if (status < 0) {
        return status;
    }
    timeline->bins = ft_cli_alloc(timeline->count * sizeof(*timeline->bins));
    ft_categories_init(&context.categories, timeline, set);
    ft_progress_begin(&progress, "reading events", ft_trace_set_events(set));
    struct ft_pass pass = {.set = set,
                           .where = where,
                           .columns = FT_COL_START | FT_COL_DUR | FT_COL_CALL | FT_COL_FILE | FT_COL_FILE2 |
                                      FT_COL_BYTES | FT_COL_NAME | FT_COL_HAS,
                           .progress = &progress,
                           .context = &context,
                           .begin = begin,
                           .add = add_rows,
                           .add_sums = add_sums,
                           .in_turn = settle,
                           .end = end};
    ft_pass_run(&pass);
    ft_progress_end(&progress);
    ft_categories_end(&context.categories);
    timeline->bad_blocks = pass.bad_blocks;
    timeline->profiled = where ? 0 : ft_trace_set_profiled(set);
    for (size_t i = 0; i < timeline->count; i++) {
        ft_timeline_bin_add(&timeline->total, &timeline->bins[i]);
    }
    ft_timeline_find_known(timeline, set, where);
    ft_intervals_fini(&context.pending[IO]);
    ft_intervals_fini(&context.pending[COMPUTE]);
    return 0;
}

void ft_timeline_fini(struct ft_timeline *timeline)
{
    for (size_t i = 0; i < timeline->category_count; i++) {
        free(timeline->categories[i].bins_ns);
    }
    free(timeline->bins);
    memset(timeline, 0, sizeof(*timeline));
}
