// SPDX-License-Identifier: MIT
/*
 * What --where says: which events a report is about.
 *
 *   expression := and { "||" and }        and := not { "&&" not }
 *   not        := "!" not | "(" expression ")" | FIELD OP VALUE
 *   OP         := = == != < <= > >= ~ !~   (~: the whole value matches a pattern of * ? [...], where * takes slashes too)
 *
 * FT_FILTER_FIELDS lists the fields. A comparison with what an event does not have (the size of an open, the path of a
 * span) is false whatever the operator, so that `!(size<4096)` holds for an open and `size>=4096` does not.
 *
 * A filter is parsed once to a small tree. ft_where binds it to a set: names are looked up and compared once for each
 * record, not for each event. Blocks whose heads show that none of their events can match need not be decoded.
 */
#ifndef FT_TRACE_FILTER_H
#define FT_TRACE_FILTER_H

#include "proto/trace_set.h"

struct ft_filter;

struct ft_filter_error {
    size_t at; /* byte of the text where it was found */
    bool is_memory;
    char text[160];
};

/* NULL with `error` filled where it cannot be understood, or there is no memory (is_memory). */
struct ft_filter *ft_filter_parse(const char *text, struct ft_filter_error *error);
void ft_filter_destroy(struct ft_filter *filter); /* NULL is fine */

/* A time such as 10ms, in seconds without a unit. False with `error` filled. */
bool ft_filter_time(const char *text, int64_t *ns, char *error, size_t error_bytes);

/* A value in a filter's language that means exactly these bytes, quoted. A new string, NULL where there is no memory. */
char *ft_filter_quote(const char *bytes, size_t count);

/* Whether all of `text` matches. Bytes; * and ? take any of them. Never more than pattern times text steps. */
bool ft_filter_glob(const char *pattern, size_t pattern_count, const char *text, size_t text_count);

/* A word of a filter that nothing of a set has. */
struct ft_filter_unknown {
    const char *field;    /* call, name, cat or tag */
    struct ft_bytes word; /* the filter's: what it is compared with, or the tag's name */
    char near[72];        /* a call that is written almost so; empty: none is */
};

/*
 * The next one of the tests from *at on that asks for a call, name or category which neither the set nor the table of
 * calls has, or for a tag of no process and no event; moves *at behind it. False: there is none.
 */
bool ft_filter_next_unknown(const struct ft_filter *filter, const struct ft_trace_set *set, size_t *at,
                            struct ft_filter_unknown *out);
/* Whether a process or an event has such a tag. */
bool ft_filter_has_tag(const struct ft_trace_set *set, const char *key, size_t key_count);

struct ft_where_stats {
    uint64_t blocks, blocks_read; /* looked at; of these decoded */
};

/* A filter bound to a set; any number of threads. */
struct ft_where {
    const struct ft_filter *filter;
    const struct ft_trace_set *set;
    int64_t start_ns;             /* of the trace: what `t` counts from */
    struct ft_where_test *tests;  /* by node of the filter */
    struct ft_where_stats *stats; /* added to atomically */
};

/* NULL where there is no memory. */
struct ft_where *ft_where_create(const struct ft_filter *filter, const struct ft_trace_set *set);
void ft_where_destroy(struct ft_where *where); /* NULL is fine */

/* Columns (FT_COL_*) that a selection looks at. */
uint32_t ft_where_columns(const struct ft_where *where);

/* Whether any event of the block may match, as far as its head tells. Counts the block. */
bool ft_where_may_match(const struct ft_where *where, struct ft_trace_decoder *decoder, size_t reader, size_t block);

/* What a block's head says of the rows that one of its sums is of. */
enum ft_where_share { FT_WHERE_NONE, FT_WHERE_ALL, FT_WHERE_SOME };
enum ft_where_share ft_where_of_sums(const struct ft_where *where, size_t reader, size_t block,
                                     const struct ft_trace_block_head *head, const struct ft_trace_aggregate *sums);

/* One thread's room for selections, all of it obtained by _init. */
struct ft_selector {
    const struct ft_where *where;
    uint8_t *levels; /* FT_TRACE_BLOCK_ROWS_MAX bytes for each level of the tree */
    int64_t *numbers;
    uint8_t *known;
    struct ft_run *runs;
    void *columns; /* of the rows that were picked */
};

/* 0 or -ENOMEM. */
int ft_selector_init(struct ft_selector *selector, const struct ft_where *where);
void ft_selector_fini(struct ft_selector *selector);
/* A byte for each row: whether it matches; valid until the next use. `count`: how many do. */
const uint8_t *ft_selector_choose(struct ft_selector *selector, size_t reader, const struct ft_rows *rows,
                                  size_t *count);
/* The rows that match, with the columns that `rows` has; valid until the next use. */
void ft_selector_pick(struct ft_selector *selector, size_t reader, const struct ft_rows *rows, struct ft_rows *out);

#endif
