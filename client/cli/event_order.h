// SPDX-License-Identifier: MIT
/*
 * What `events --sort` goes by: a field of the event, -FIELD for the largest first. Each event's value becomes one number
 * that orders like it: numbers are themselves, texts and tags their place among all that occur in the set.
 */
#ifndef FT_CLI_EVENT_ORDER_H
#define FT_CLI_EVENT_ORDER_H

#include "client/cli/group_keys.h"

struct ft_event_order {
    bool is_descending;
    const struct ft_event_order_field *number; /* a number of the row; NULL: the one of `keys` */
    struct ft_group_keys keys;
    uint32_t *ranks; /* by value of `keys` */
};

/* Events without the field come last, whatever the direction; equal ones in order of time, files, blocks and rows. */
struct ft_event_place {
    bool is_absent;
    int64_t value; /* smallest first */
    int64_t ts_ns;
    uint32_t reader, block, row; /* row: among those of its block that were chosen */
};

/* 0, or -EINVAL with a message. */
int ft_event_order_parse(struct ft_event_order *order, const char *text, char *error, size_t error_bytes);
void ft_event_order_bind(struct ft_event_order *order, const struct ft_trace_set *set);
void ft_event_order_fini(struct ft_event_order *order);

/* Columns (FT_COL_*) that _value looks at. */
uint32_t ft_event_order_columns(const struct ft_event_order *order);
/* Sets is_absent and value of row i of a thread; ts_ns is set before. */
void ft_event_order_value(const struct ft_event_order *order, size_t reader, uint32_t thread,
                          const struct ft_rows *rows, size_t i, struct ft_event_place *place);

static inline bool ft_event_place_before(const struct ft_event_place *a, const struct ft_event_place *b)
{
    if (a->is_absent != b->is_absent) {
        return b->is_absent;
    }
    if (a->value != b->value) {
        return a->value < b->value;
    }
    if (a->ts_ns != b->ts_ns) {
        return a->ts_ns < b->ts_ns;
    }
    if (a->reader != b->reader) {
        return a->reader < b->reader;
    }
    return a->block != b->block ? a->block < b->block : a->row < b->row;
}

#endif
