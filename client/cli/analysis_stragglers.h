// SPDX-License-Identifier: MIT
/* Processes that did I/O for longer than others which ran the same program. */
#ifndef FT_CLI_ANALYSIS_STRAGGLERS_H
#define FT_CLI_ANALYSIS_STRAGGLERS_H

#include "client/cli/analysis_scan.h"

/* Fewer processes of one program have no median that says something. */
enum { FT_STRAGGLERS_GROUP_MIN = 3 };

/* Less than so much above the median, or than this part of the job's wall time, is noise. */
#define FT_STRAGGLERS_MIN_NS INT64_C(1000000)
#define FT_STRAGGLERS_WALL_PART 100

struct ft_straggler {
    uint32_t process;
    int64_t io_ns, median_ns; /* its own time with I/O going on, and that of its program's processes */
};

/*
 * Those above the median of their program (the lower one of the two in the middle) by more than noise, the furthest from it first. A new
 * array. `scan` with FT_SCAN_PROCESS_TIMES. `are_chosen`: it is of chosen events, and only of processes that have some.
 */
struct ft_straggler *ft_stragglers_find(const struct ft_trace_set *set, const struct ft_scan *scan, bool are_chosen,
                                        size_t *count);

#endif
