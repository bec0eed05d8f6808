// SPDX-License-Identifier: MIT
/*
 * The first events of an order, in memory that goes with how many are wanted. The first look decodes only what the order
 * needs and keeps places; the events themselves are read when they are printed.
 */
#ifndef FT_CLI_EVENT_TOP_H
#define FT_CLI_EVENT_TOP_H

#include "client/cli/event_order.h"
#include "client/cli/event_stream.h"

/*
 * So many are kept at most: 40 bytes each for each thread that reads, and another 40 while they are put together; once they
 * are fetched, some 140 and their arguments.
 */
enum { FT_EVENT_TOP_MAX = 1000000 };

struct ft_event_top {
    struct ft_event_place *places; /* in order */
    size_t count;
    uint64_t chosen;                /* of which these are the first */
    struct ft_stream_event *events; /* by place, once fetched; .args owned */
    bool *is_read;
    uint64_t bad_blocks;
};

/* Of the events that `where` chooses; NULL: all. `most` of them, FT_EVENT_TOP_MAX at most. The order is bound. */
void ft_event_top_find(struct ft_event_top *top, const struct ft_event_order *order, const struct ft_trace_set *set,
                       const struct ft_where *where, size_t most);
/* Reads the events. 0, or -errno where nothing can be decoded. */
int ft_event_top_fetch(struct ft_event_top *top, const struct ft_trace_set *set, const struct ft_where *where);
void ft_event_top_fini(struct ft_event_top *top);

#endif
