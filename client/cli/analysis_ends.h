// SPDX-License-Identifier: MIT
/*
 * Where the blocks of each host end, for a pass that puts a thread's events together: it takes the blocks of all hosts in
 * descending order of their ends, and so those of each. Times are since the epoch.
 */
#ifndef FT_CLI_ANALYSIS_ENDS_H
#define FT_CLI_ANALYSIS_ENDS_H

#include "proto/trace_set.h"

struct ft_ends {
    int64_t **ends_ns; /* by host: in that order, INT64_MIN behind them */
    size_t *taken;     /* by host: how many of them */
    size_t host_count;
};

void ft_ends_init(struct ft_ends *ends, const struct ft_trace_set *set);
void ft_ends_fini(struct ft_ends *ends);
/* The next block is of this host: no later one of the host reaches above what is returned; INT64_MIN: there is none. */
int64_t ft_ends_take(struct ft_ends *ends, uint32_t host);

#endif
