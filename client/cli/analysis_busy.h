// SPDX-License-Identifier: MIT
/*
 * When the calls and spans of one block went on: for the whole job and for each process. What one thread of a scan makes
 * of its block, before analysis_process_times.h and the sweep of the job take it.
 *
 * Calls are put in process by process, each thread's in order of start. A time is relative to the block's and holds what
 * the call moved in its lowest bits, so that one sort serves all unions.
 */
#ifndef FT_CLI_ANALYSIS_BUSY_H
#define FT_CLI_ANALYSIS_BUSY_H

#include "client/cli/analysis_intervals.h"

enum { FT_BUSY_READ = 1, FT_BUSY_WRITE = 2, FT_BUSY_BITS = 2 };

/* Of one process: parts of ft_busy.lists, from `first` on. */
struct ft_busy_process {
    uint32_t process;
    size_t first[FT_SWEEP_COUNT], count[FT_SWEEP_COUNT];
    struct ft_sweep_totals totals;
};

struct ft_busy {
    bool has_processes;                              /* whether they are wanted */
    int64_t base_ns;                                 /* since the epoch */
    struct ft_intervals calls;                       /* start << FT_BUSY_BITS | what moved, end << FT_BUSY_BITS */
    struct ft_intervals spans[FT_SWEEP_COUNT];       /* since the epoch */
    size_t calls_begin, spans_begin[FT_SWEEP_COUNT]; /* of the process at hand */
    struct ft_intervals scratch;
    /* the results */
    struct ft_sweep_block whole;
    struct ft_intervals lists[FT_SWEEP_COUNT]; /* of all processes, one after the other: normal each */
    struct ft_busy_process *processes;
    size_t process_count, process_space;
};

void ft_busy_fini(struct ft_busy *busy);
/* Begins a block of so many rows. */
void ft_busy_begin(struct ft_busy *busy, int64_t base_ns, size_t rows);
/* A span, since the epoch. */
void ft_busy_add_span(struct ft_busy *busy, enum ft_sweep_kind kind, int64_t start, int64_t end);
/* After all runs of a process; UINT32_MAX: unknown. */
void ft_busy_end_process(struct ft_busy *busy, uint32_t process);
void ft_busy_end(struct ft_busy *busy);
/* One of the processes; valid until the next block. */
struct ft_sweep_block ft_busy_process_block(const struct ft_busy *busy, size_t i);

/*
 * A call; times since ft_busy.base_ns, `moved` of FT_BUSY_*. Nothing happens where `is_wanted` is false: so there is no
 * branch that chance decides.
 */
static inline void ft_busy_add(struct ft_busy *busy, int64_t start, int64_t dur, unsigned moved, bool is_wanted)
{
    struct ft_interval *to = &busy->calls.items[busy->calls.count];
    to->start = (int64_t)((uint64_t)start << FT_BUSY_BITS | moved);
    to->end = (int64_t)((uint64_t)(start + dur) << FT_BUSY_BITS);
    busy->calls.count += is_wanted & (dur > 0);
}

#endif
