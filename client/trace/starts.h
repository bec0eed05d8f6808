// SPDX-License-Identifier: MIT
/* When and in which file each pid began: whether what one file could not see is in a later one. */
#ifndef FT_TRACE_STARTS_H
#define FT_TRACE_STARTS_H

#include "proto/trace_set.h"

struct ft_starts {
    struct ft_start *items; /* by host and pid */
    size_t count;
};

int ft_starts_read(struct ft_starts *starts, const struct ft_trace_set *set); /* 0 or -ENOMEM */
void ft_starts_fini(struct ft_starts *starts);

/*
 * Whether a gap of file number `reader` of the set is none: the daemon ended while this process ran, or was starting, and
 * another daemon went on with it.
 */
bool ft_starts_is_gone_on_with(const struct ft_starts *starts, const struct ft_trace_set *set, size_t reader,
                               const struct ft_trace_gap *gap);

#endif
