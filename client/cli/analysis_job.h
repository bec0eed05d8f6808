// SPDX-License-Identifier: MIT
/* What a set of traces says of the job as a whole, apart from its events: who, when, what was not seen. */
#ifndef FT_CLI_ANALYSIS_JOB_H
#define FT_CLI_ANALYSIS_JOB_H

#include "client/cli/analysis_coverage.h"
#include "client/cli/analysis_scan.h"
#include "proto/trace_set.h"

struct ft_job_gap {
    struct ft_bytes host, exe, reason;
    uint8_t kind; /* enum ft_gap */
    uint32_t pid;
    uint64_t count;
};

/* Gaps of one kind, program and reason: whoever ran it, wherever and how often. */
struct ft_gap_group {
    const struct ft_job_gap *first;
    uint64_t count;
};

struct ft_job_name {
    struct ft_bytes id, user, workflow;
    uint8_t source; /* enum ft_job_source */
};

/* Strings belong to the set, which must live longer. */
struct ft_job {
    uint64_t emitted, stored, dropped, dropped_by_cause[FT_CAUSE_COUNT];
    uint64_t missing; /* see ft_job_missing_in_all() */
    uint64_t names_lost, bad_values;
    bool has_span;
    int64_t start_ns, end_ns; /* since the epoch */
    struct ft_job_name *names;
    size_t name_count;
    struct ft_tag *tags; /* distinct */
    size_t tag_count;
    struct ft_job_gap *gaps; /* equal ones added up */
    size_t gap_count;
    struct ft_coverage coverage;
    uint32_t *parents;       /* by process index of the set: see ft_parents_find(); FT_TRACE_SET_NONE: none */
    size_t thread_count;     /* distinct: the threads of a process go on over an exec */
    uint64_t clock_error_ns; /* the largest of all files */
    uint64_t profiled;       /* events of which the trace has sums alone, dropped ones (capped) among them */
    int64_t capped_since_ns; /* since the epoch: when the job passed its cap; 0: it did not */
};

/* `scan` with FT_SCAN_PROCESSES. */
void ft_job_read(struct ft_job *job, const struct ft_trace_set *set, const struct ft_scan *scan);
void ft_job_fini(struct ft_job *job);
/* How many gaps it then has, equal ones being one. */
size_t ft_job_count_gaps(const struct ft_trace_set *set);
/* In the order of their first ones; to be freed. Valid as long as the job's gaps. */
struct ft_gap_group *ft_job_group_gaps(const struct ft_job *job, size_t *count);

/*
 * Events of a process. As its threads counted them; where the file's end is missing, or something in the trace, at least
 * what was found of it, since the last record that is left may be older than the last block.
 */
uint64_t ft_job_emitted(const struct ft_trace_set *set, const struct ft_scan *scan, uint32_t process);
/*
 * Events of a process that are neither dropped nor among the `events` that are here: they were in blocks that are damaged, or
 * in files that are not among these. Where the file's end is missing, nobody knows of any.
 */
uint64_t ft_job_missing(const struct ft_trace_set *set, uint32_t process, uint64_t events);
/*
 * Of all processes, `scan` with FT_SCAN_PROCESSES. What is here, but whose it is was lost, is missing of a process, not of all;
 * `beyond`: what is here that no process misses. The record of its own was lost, or did not fit in the memory limit.
 */
uint64_t ft_job_missing_in_all(const struct ft_trace_set *set, const struct ft_scan *scan, uint64_t *beyond);
uint64_t ft_job_dropped(const struct ft_trace_process *process);
/* Whether calls on files may be among them; of what each was on nothing is known. */
bool ft_job_drops_io(const struct ft_trace_set *set, uint32_t process);
/*
 * Whether it can be compared with other processes: where events were dropped, its times and bytes are of some of its
 * calls alone.
 */
static inline bool ft_job_is_comparable(const struct ft_trace_set *set, uint32_t process)
{
    return ft_job_dropped(ft_trace_set_process(set, process)->record) == 0;
}

#endif
