// SPDX-License-Identifier: MIT
/*
 * One pass over the events of a set for an analysis of its own: a few threads (analysis_workers.h) decode blocks and add
 * each to a state of their own. Blocks are taken in descending order of their ends, so that what was above the end of the
 * next one is final (see analysis_intervals.h).
 */
#ifndef FT_CLI_ANALYSIS_PASS_H
#define FT_CLI_ANALYSIS_PASS_H

#include "client/cli/progress.h"
#include "client/trace/filter.h"
#include "proto/trace_set.h"

/* What reports go by of a call, looked up once. */
struct ft_pass_call {
    uint8_t group;  /* enum ft_group */
    uint8_t stream; /* see ft_count_of_stream() */
    bool is_counted, is_open;
};

/* What is known of the files of a reader: their records are in no cache where there are many. */
struct ft_pass_files {
    uint8_t *classes; /* by id: enum ft_file_class, + 1; 0: not asked for yet. By atomic loads and stores */
    uint32_t max;
};

struct ft_pass {
    const struct ft_trace_set *set;
    const struct ft_where *where;                          /* NULL: all events */
    uint32_t columns;                                      /* FT_COL_* that `add` looks at */
    struct ft_progress *progress;                          /* may be NULL */
    void *context;                                         /* what all states share */
    const struct ft_pass_call (*calls)[FT_TRACE_CALL_MAX]; /* by reader; while the pass runs */
    struct ft_pass_files *files;                           /* likewise */
    /* A state for one thread. */
    void *(*begin)(struct ft_pass *pass);
    /* Which block comes next. May be NULL. */
    void (*at)(void *state, uint32_t reader, uint32_t block);
    /* Adds a block; no rows where it is damaged or cannot match. */
    void (*add)(void *state, size_t reader, const struct ft_rows *rows);
    /* Likewise of rows that are sums of events (PROFILE frames), one block at a time after all others; not where there is a
     * `where`, which chooses among events. May be NULL. */
    void (*add_sums)(void *state, size_t reader, const struct ft_rows *rows);
    /* In order of the blocks, one at a time; no later block reaches above the watermark. May be NULL. */
    void (*in_turn)(void *state, int64_t watermark_ns);
    /* After all, in the thread that runs the pass: gives the state to the context and frees it. */
    void (*end)(void *state);
    uint64_t bad_blocks; /* set by the run */
};

void ft_pass_run(struct ft_pass *pass);

/* Mask of FT_COUNT_* of row i, which is of a call. */
unsigned ft_pass_mask(const struct ft_pass *pass, size_t reader, const struct ft_rows *rows, size_t i);

#endif
