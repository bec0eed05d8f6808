// SPDX-License-Identifier: MIT
/* Processes that ran the same program, beside each other. */
#ifndef FT_CLI_ANALYSIS_PEERS_H
#define FT_CLI_ANALYSIS_PEERS_H

#include "proto/trace_set.h"

struct ft_peer {
    uint32_t program, process;
    uint64_t io_ns;
};

/* Numbers the programs, and puts peers in order of program, time and process. `process` and `io_ns` are given. */
void ft_peers_order(struct ft_peer *peers, size_t count, const struct ft_trace_set *set);
/* Where the program of the first of them ends: how many there are of it. */
size_t ft_peers_of_first(const struct ft_peer *peers, size_t count);

#endif
