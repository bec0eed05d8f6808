// SPDX-License-Identifier: MIT
/* How much of what happened a report can tell of. */
#ifndef FT_CLI_ANALYSIS_STATE_H
#define FT_CLI_ANALYSIS_STATE_H

#include "proto/trace_set.h"

struct ft_state {
    bool is_partial;  /* something is missing or damaged */
    size_t unclosed;  /* files without their end: a daemon writes them still, or was killed */
    uint64_t dropped; /* events, without capped ones: of those there are sums */
    size_t gap_count; /* equal ones are one */
};

/* `bad_blocks` is not 0 where blocks of events could not be decoded, whoever saw it. */
struct ft_state ft_state_of(const struct ft_trace_set *set, uint64_t bad_blocks);

#endif
