// SPDX-License-Identifier: MIT
#include "client/cli/event_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

enum { BUDGET_ROWS = 1 << 20, WINDOW_ROWS_MIN = 1024 };

struct cursor {
    uint32_t reader, block, rows;
    uint32_t done; /* rows given out */
    bool is_known; /* decoded before */
    int64_t next_ts_ns;
    struct ft_stream_event *window; /* NULL: not decoded now */
    uint32_t window_count, window_at;
    struct ft_event_arg *args; /* of the window's events */
};

struct row_key {
    int64_t start_ns;
    uint32_t row, thread;
};

static bool comes_before(const struct ft_event_stream *stream, uint32_t a, uint32_t b)
{
    int64_t a_ts = stream->cursors[a].next_ts_ns, b_ts = stream->cursors[b].next_ts_ns;
    return a_ts != b_ts ? a_ts < b_ts : a < b;
}

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t kept = *a;
    *a = *b;
    *b = kept;
}

static void sift_down(struct ft_event_stream *stream, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= stream->heap_count) {
            return;
        }
        if (child + 1 < stream->heap_count && comes_before(stream, stream->heap[child + 1], stream->heap[child])) {
            child++;
        }
        if (!comes_before(stream, stream->heap[child], stream->heap[at])) {
            return;
        }
        swap(&stream->heap[child], &stream->heap[at]);
        at = child;
    }
}

static int earlier_row_first(const void *a_untyped, const void *b_untyped)
{
    const struct row_key *a = a_untyped, *b = b_untyped;
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Those that were chosen, `count` of them; `chosen` NULL: all. */
static struct row_key *sort_rows(const struct ft_rows *rows, const uint8_t *chosen, size_t count)
{
    struct row_key *keys = ft_cli_alloc(count * sizeof(*keys));
    size_t at = 0;
    for (size_t r = 0; r < rows->run_count; r++) {
        for (uint32_t i = 0; i < rows->runs[r].count; i++) {
            uint32_t row = rows->runs[r].first + i;
            if (!chosen || chosen[row]) {
                keys[at++] =
                    (struct row_key){.start_ns = rows->start_ns[row], .row = row, .thread = rows->runs[r].thread};
            }
        }
    }
    if (rows->run_count > 1) {
        qsort(keys, count, sizeof(*keys), earlier_row_first);
    }
    return keys;
}

/* The decoder's own go with its next block. */
static void keep_args(struct cursor *cursor, const struct ft_rows *rows, uint32_t count)
{
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        used += cursor->window[i].event.arg_count;
    }
    cursor->args = used ? ft_cli_alloc(used * sizeof(*cursor->args)) : NULL;
    used = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct ft_stream_event *event = &cursor->window[i];
        size_t bytes = event->event.arg_count * sizeof(*cursor->args);
        event->args = cursor->args ? cursor->args + used : NULL;
        if (bytes) {
            memcpy(cursor->args + used, rows->args + event->event.first_arg, bytes);
        }
        used += event->event.arg_count;
    }
}

static void fill_window(struct ft_event_stream *stream, struct cursor *cursor, const struct ft_rows *rows,
                        const uint8_t *chosen)
{
    size_t share = stream->budget_rows / (stream->open_count + 1), left = cursor->rows - cursor->done;
    share = share < WINDOW_ROWS_MIN ? WINDOW_ROWS_MIN : share;
    uint32_t count = (uint32_t)(left < share ? left : share);
    struct row_key *keys = sort_rows(rows, chosen, cursor->rows);
    cursor->window = ft_cli_alloc(count * sizeof(*cursor->window));
    for (uint32_t i = 0; i < count; i++) {
        const struct row_key *key = &keys[cursor->done + i];
        struct ft_stream_event *event = &cursor->window[i];
        ft_rows_event(rows, key->row, key->thread, &event->event);
        event->reader = cursor->reader;
        event->ts_ns = ft_trace_set_realtime_ns(stream->set, cursor->reader, key->start_ns);
    }
    free(keys);
    keep_args(cursor, rows, count);
    cursor->window_count = count;
    cursor->window_at = 0;
    stream->open_count++;
    stream->open_most = stream->open_count > stream->open_most ? stream->open_count : stream->open_most;
}

/* Decodes the columns that are asked for; a block that cannot be is counted. */
static bool decode(struct ft_event_stream *stream, const struct cursor *cursor, uint32_t columns, struct ft_rows *rows)
{
    const struct ft_trace_reader *reader = ft_trace_set_reader(stream->set, cursor->reader);
    if (!ft_cli_decoded(ft_trace_decoder_rows(stream->decoder, reader, cursor->block, columns, rows))) {
        stream->bad_blocks++;
        return false;
    }
    return true;
}

/* Which rows match: from the head, then from the columns that the filter needs. `chosen` and the cursor's rows. */
static bool choose(struct ft_event_stream *stream, struct cursor *cursor, const uint8_t **chosen)
{
    const struct ft_where *where = stream->selector.where;
    struct ft_rows rows;
    size_t count;
    if (!cursor->is_known && !ft_where_may_match(where, stream->decoder, cursor->reader, cursor->block)) {
        return false;
    }
    if (!decode(stream, cursor, ft_where_columns(where), &rows)) {
        return false;
    }
    *chosen = ft_selector_choose(&stream->selector, cursor->reader, &rows, &count);
    cursor->rows = (uint32_t)count;
    return cursor->done < cursor->rows;
}

static bool open_cursor(struct ft_event_stream *stream, struct cursor *cursor)
{
    struct ft_rows rows;
    const uint8_t *chosen = NULL;
    if (stream->selector.where && !choose(stream, cursor, &chosen)) {
        return false;
    }
    if (!decode(stream, cursor, FT_COL_ALL, &rows)) {
        return false;
    }
    cursor->rows = chosen ? cursor->rows : (uint32_t)rows.count;
    cursor->is_known = true;
    if (cursor->done >= cursor->rows) {
        return false;
    }
    fill_window(stream, cursor, &rows, chosen);
    cursor->next_ts_ns = cursor->window[0].ts_ns;
    return true;
}

static void close_window(struct ft_event_stream *stream, struct cursor *cursor)
{
    free(cursor->window);
    free(cursor->args);
    cursor->window = NULL;
    cursor->args = NULL;
    stream->open_count--;
}

static void remove_top(struct ft_event_stream *stream)
{
    stream->heap[0] = stream->heap[--stream->heap_count];
    sift_down(stream, 0);
}

static void make_cursors(struct ft_event_stream *stream)
{
    size_t count = 0;
    for (uint32_t r = 0; r < ft_trace_set_reader_count(stream->set); r++) {
        size_t blocks;
        const struct ft_trace_block *heads = ft_trace_reader_blocks(ft_trace_set_reader(stream->set, r), &blocks);
        stream->cursors = ft_cli_realloc(stream->cursors, count + blocks, sizeof(*stream->cursors));
        for (uint32_t b = 0; b < blocks; b++) {
            stream->cursors[count++] =
                (struct cursor){.reader = r,
                                .block = b,
                                .rows = heads[b].rows,
                                .next_ts_ns = ft_trace_set_realtime_ns(stream->set, r, heads[b].start_ns)};
        }
    }
    stream->heap = ft_cli_alloc(count * sizeof(*stream->heap));
    stream->heap_count = count;
    for (uint32_t i = 0; i < count; i++) {
        stream->heap[i] = i;
    }
    for (size_t i = count / 2; i-- > 0;) {
        sift_down(stream, i);
    }
}

int ft_event_stream_init(struct ft_event_stream *stream, const struct ft_trace_set *set, const struct ft_where *where)
{
    memset(stream, 0, sizeof(*stream));
    stream->set = set;
    stream->budget_rows = BUDGET_ROWS;
    int status = where ? ft_selector_init(&stream->selector, where) : 0;
    if (status == 0) {
        status = ft_trace_decoder_create(&stream->decoder);
    }
    if (status == 0) {
        make_cursors(stream);
    }
    return status;
}

void ft_event_stream_fini(struct ft_event_stream *stream)
{
    for (size_t i = 0; i < stream->heap_count; i++) {
        free(stream->cursors[stream->heap[i]].window);
        free(stream->cursors[stream->heap[i]].args);
    }
    free(stream->cursors);
    free(stream->heap);
    ft_selector_fini(&stream->selector);
    ft_trace_decoder_destroy(stream->decoder);
}

/* Steps over the event that was given out last, which is the top's. */
static void step(struct ft_event_stream *stream, struct cursor *cursor)
{
    cursor->window_at++;
    cursor->done++;
    if (cursor->window_at < cursor->window_count) {
        cursor->next_ts_ns = cursor->window[cursor->window_at].ts_ns;
        sift_down(stream, 0);
        return;
    }
    close_window(stream, cursor);
    if (cursor->done >= cursor->rows || !open_cursor(stream, cursor)) {
        remove_top(stream);
    } else {
        sift_down(stream, 0);
    }
}

const struct ft_stream_event *ft_event_stream_next(struct ft_event_stream *stream)
{
    if (stream->has_given) {
        stream->has_given = false;
        step(stream, &stream->cursors[stream->heap[0]]);
    }
    while (stream->heap_count > 0) {
        struct cursor *top = &stream->cursors[stream->heap[0]];
        if (top->window) {
            stream->has_given = true;
            return &top->window[top->window_at];
        }
        if (open_cursor(stream, top)) {
            sift_down(stream, 0);
        } else {
            remove_top(stream);
        }
    }
    return NULL;
}
