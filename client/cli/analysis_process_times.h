// SPDX-License-Identifier: MIT
/*
 * The unions over time of each process. Blocks of one host come in descending order of their ends (as for a sweep, see
 * analysis_intervals.h): what a process did above the end of the host's next block is final. Only what lies below is
 * kept, which is little, whatever the number of processes, hosts and events.
 */
#ifndef FT_CLI_ANALYSIS_PROCESS_TIMES_H
#define FT_CLI_ANALYSIS_PROCESS_TIMES_H

#include "client/cli/analysis_busy.h"

struct ft_process_pending {
    uint32_t process;
    struct ft_sweep sweep;
};

/* Of one host: processes with something that is not final. */
struct ft_host_times {
    struct ft_process_pending *pending;
    int64_t *ends; /* of each of them: the last of what is pending; nothing is done with it before the mark is below */
    size_t count, space;
};

struct ft_process_times {
    struct ft_sweep_totals *totals; /* by process */
    uint32_t *places;               /* by process: where it may stand in its host's `pending` */
    struct ft_host_times *hosts;
    size_t host_count;
};

void ft_process_times_init(struct ft_process_times *times, size_t process_count, size_t host_count);
void ft_process_times_fini(struct ft_process_times *times);
/* One block of a host. `watermark`: no later block of this host reaches above it; INT64_MIN: there is none. */
void ft_process_times_add(struct ft_process_times *times, uint32_t host, const struct ft_busy *busy, int64_t watermark);

#endif
