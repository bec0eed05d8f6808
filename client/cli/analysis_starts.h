// SPDX-License-Identifier: MIT
/* When and in which file each pid began: whether one that was only starting is in a later file. */
#ifndef FT_CLI_ANALYSIS_STARTS_H
#define FT_CLI_ANALYSIS_STARTS_H

#include "proto/trace_set.h"

struct ft_starts {
    struct ft_start *items; /* by host and pid */
    size_t count;
};

void ft_starts_read(struct ft_starts *starts, const struct ft_trace_set *set);
void ft_starts_fini(struct ft_starts *starts);

/* Whether a process with this pid of this host began before `until_ns` (CLOCK_MONOTONIC) and is in a file behind number
 * `reader` of the set. */
bool ft_starts_is_later(const struct ft_starts *starts, uint32_t host, uint32_t pid, int64_t until_ns, size_t reader);

#endif
