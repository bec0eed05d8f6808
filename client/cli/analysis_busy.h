// SPDX-License-Identifier: MIT
/*
 * When the calls and spans of one block went on: for the whole job and for each process. What one thread of a scan makes
 * of its block, before analysis_process_times.h and the sweep of the job take it.
 *
 * Calls are put in process by process, each thread's in order of start, as words (analysis_packed.h). Those that are too
 * long for one are kept as lists; where there are any, the others become lists, too.
 */
#ifndef FT_CLI_ANALYSIS_BUSY_H
#define FT_CLI_ANALYSIS_BUSY_H

#include "client/cli/analysis_packed.h"

/* Of one process: a part of ft_busy.calls and parts of ft_busy.lists, from `first` on. */
struct ft_busy_process {
    uint32_t process;
    struct ft_packed calls;
    size_t first[FT_SWEEP_COUNT], count[FT_SWEEP_COUNT];
    struct ft_sweep_totals totals;
};

/* Where the calls of the process at hand are put, and what is known of them. */
struct ft_busy_writer {
    struct ft_packed_form form;
    uint64_t *to;
    uint64_t moved; /* all bits of what moved */
    int64_t sum_ns, moved_ns;
    uint64_t end;     /* of the last one, since the base */
    bool are_crossed; /* one of them began before the one before it had ended */
};

struct ft_busy {
    bool has_processes;                 /* whether they are wanted */
    uint64_t *calls, *sorted, *scratch; /* room for a block's calls each */
    int64_t *reached[2];                /* marks of these: of the processes, of all */
    size_t call_space, calls_begin;     /* begin: of the process at hand, as those below */
    struct ft_busy_writer writer;
    uint64_t all_moved;                        /* of the processes before */
    struct ft_intervals spans[FT_SWEEP_COUNT]; /* since the epoch; those of calls: what fits no word */
    size_t spans_begin[FT_SWEEP_COUNT];
    /* the results */
    struct ft_sweep_block whole;
    struct ft_intervals lists[FT_SWEEP_COUNT]; /* of all processes, one after the other: normal each */
    struct ft_busy_process *processes;
    size_t process_count, process_space;
};

void ft_busy_fini(struct ft_busy *busy);
/* Begins a block of so many rows. */
void ft_busy_begin(struct ft_busy *busy, struct ft_packed_form form, size_t rows);
/* A span, since the epoch. */
void ft_busy_add_span(struct ft_busy *busy, enum ft_sweep_kind kind, int64_t start, int64_t end);
/* A call that fits no word, since the epoch. */
void ft_busy_add_long(struct ft_busy *busy, int64_t start, int64_t end, unsigned moved);
/* After all runs of a process; UINT32_MAX: unknown. */
void ft_busy_end_process(struct ft_busy *busy, uint32_t process);
void ft_busy_end(struct ft_busy *busy);
/* One of the processes; valid until the next block. */
struct ft_sweep_block ft_busy_process_block(const struct ft_busy *busy, size_t i);

/*
 * A call that fits, its start since the form's base; `moved` of FT_PACKED_*. Nothing happens where `is_wanted` is false:
 * so there is no branch that chance decides.
 */
static inline __attribute__((always_inline)) void ft_busy_add(struct ft_busy_writer *writer, uint64_t start,
                                                              uint64_t dur, unsigned moved, bool is_wanted)
{
    *writer->to = ft_packed_word(writer->form, start, dur, moved);
    writer->to += is_wanted;
    writer->moved |= moved;
    writer->are_crossed |= is_wanted & (start < writer->end);
    writer->end = is_wanted ? start + dur : writer->end;
}

/* How long all of them took that were added, and those of them that moved something: whoever adds them knows. */
static inline void ft_busy_add_times(struct ft_busy_writer *writer, uint64_t sum_ns, uint64_t moved_ns)
{
    writer->sum_ns += (int64_t)sum_ns;
    writer->moved_ns += (int64_t)moved_ns;
}

#endif
