// SPDX-License-Identifier: MIT
/*
 * All events of a set in order of time, in bounded memory.
 *
 * Each block is a cursor in a heap, ordered by the start of its next event; a block that was not decoded yet stands at
 * the first start that its head tells. A decoded block keeps a window of its next events. The more blocks are open at a
 * time (many hosts, or calls that waited long), the smaller are the windows; a block is then decoded several times.
 * Equal times: the order of files, blocks and rows, so that the order within a thread is always exact.
 */
#ifndef FT_CLI_EVENT_STREAM_H
#define FT_CLI_EVENT_STREAM_H

#include <stdbool.h>

#include "client/trace/filter.h"

struct ft_stream_event {
    struct ft_event event;
    uint32_t reader;
    int64_t ts_ns;                   /* since the epoch */
    const struct ft_event_arg *args; /* event.arg_count of them */
};

struct ft_event_stream {
    const struct ft_trace_set *set;
    struct ft_trace_decoder *decoder;
    struct cursor *cursors; /* one for each block */
    uint32_t *heap;         /* indices of cursors */
    size_t heap_count, open_count, open_most;
    bool has_given;     /* the top's event was given out and is stepped over next */
    size_t budget_rows; /* of all windows together, about */
    uint64_t bad_blocks;
    struct ft_selector selector; /* .where NULL: all events */
};

/* `where`: which events; NULL: all. 0 or -errno. */
int ft_event_stream_init(struct ft_event_stream *stream, const struct ft_trace_set *set, const struct ft_where *where);
void ft_event_stream_fini(struct ft_event_stream *stream);
/* The next event, valid until the next call; NULL at the end. */
const struct ft_stream_event *ft_event_stream_next(struct ft_event_stream *stream);

#endif
