// SPDX-License-Identifier: MIT
/*
 * The threads of a pass: each decodes blocks and adds them to a state of its own. Blocks are taken in the order of
 * analysis_scan_order.h, and handed over in it, one at a time.
 */
#ifndef FT_CLI_ANALYSIS_WORKERS_H
#define FT_CLI_ANALYSIS_WORKERS_H

#include "client/cli/analysis_scan_order.h"
#include "client/cli/progress.h"
#include "client/trace/filter.h"

/* A block whose turn it is. */
struct ft_workers_turn {
    const struct ft_scan_block *block;
    int64_t watermark_ns; /* since the epoch: no later block reaches above; INT64_MIN: there is none */
    bool is_sound;
};

struct ft_workers {
    const struct ft_trace_set *set;
    const struct ft_where *where;  /* NULL: all events */
    uint32_t columns;              /* FT_COL_* that `add` looks at */
    struct ft_progress *progress;  /* may be NULL */
    void *context;                 /* what all states share */
    void *(*begin)(void *context); /* a state for one thread */
    /* Adds a block; no rows where it cannot match, NULL where it is damaged. */
    void (*add)(void *state, const struct ft_scan_block *block, const struct ft_rows *rows);
    /* In order of the blocks, one at a time. May be NULL. */
    void (*in_turn)(void *state, const struct ft_workers_turn *turn);
    /* After all, in the thread that runs them: gives the state to the context and frees it. */
    void (*end)(void *state);
};

/* How many blocks could not be read. Where not even one thread could work: one line and exit 1. */
uint64_t ft_workers_run(const struct ft_workers *workers);

#endif
