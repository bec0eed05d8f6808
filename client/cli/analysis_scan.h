// SPDX-License-Identifier: MIT
/*
 * One pass over all events: totals per file and per process, the unions over time, and how files were accessed. Blocks
 * are decoded by a few threads, in descending order of their ends (analysis_intervals.h says why), only the columns that
 * are needed. Memory goes with the files and processes of the trace, not with its events.
 */
#ifndef FT_CLI_ANALYSIS_SCAN_H
#define FT_CLI_ANALYSIS_SCAN_H

#include "client/cli/analysis_access.h"
#include "client/cli/analysis_busy.h"
#include "client/cli/analysis_calls.h"
#include "client/cli/analysis_entries.h"
#include "client/cli/analysis_process_times.h"
#include "client/cli/analysis_reuse.h"
#include "client/cli/analysis_scan_files.h"
#include "client/cli/progress.h"
#include "client/trace/filter.h"
#include "proto/trace_set.h"

struct ft_process_sum {
    uint64_t events;
    uint64_t profiled;                  /* events that came as sums, dropped ones (capped) among them */
    uint64_t read_bytes, written_bytes; /* as in read and write of a summary */
    uint64_t late_bytes;                /* of both: see ft_count_is_late() */
    uint64_t io_time_ns;                /* sum, not union */
    uint64_t kernel_like_bytes;         /* what rchar + wchar should hold */
};

struct ft_scan {
    struct ft_entries entries;
    struct ft_file_sums files; /* by entry; those that are one file with an earlier one are empty */
    size_t file_count;
    uint32_t *roots; /* by entry: the one that it is put together with; NULL: each stands alone */
    struct ft_reuse_marks marks;
    struct ft_process_sum *processes; /* by process index of the set */
    size_t process_count;
    struct ft_sweep sweep;         /* its totals, of all processes */
    struct ft_process_times times; /* its totals, by process */
    struct ft_access access;       /* its counts */
    uint64_t rows, bad_blocks;
};

/* Which parts are wanted: less is faster. PROCESSES is always there; the others are zeros where they were not asked for. */
enum {
    FT_SCAN_FILES = 1,
    FT_SCAN_PROCESSES = 2,
    FT_SCAN_UNIONS = 4,
    FT_SCAN_PROCESS_TIMES = 8,
    FT_SCAN_ACCESS = 16,
};

/* 0, or -ENOMEM and the like where not even one thread could work. */
int ft_scan_read(struct ft_scan *scan, const struct ft_trace_set *set, unsigned parts, struct ft_progress *progress);
/*
 * The same of those events alone for which `where` holds. `whole` is a scan of all events with FT_SCAN_FILES where files
 * are wanted, since all of them tell which paths are one file; else NULL.
 */
int ft_scan_read_where(struct ft_scan *scan, const struct ft_trace_set *set, unsigned parts,
                       const struct ft_where *where, const struct ft_scan *whole, struct ft_progress *progress);
/* The same; what `calls` tells of them is added to it, where that is not NULL. */
int ft_scan_read_chosen(struct ft_scan *scan, const struct ft_trace_set *set, unsigned parts,
                        const struct ft_where *where, const struct ft_scan *whole, struct ft_calls *calls,
                        struct ft_progress *progress);
/* What is known without a look at any event: their number, and what PROFILE frames tell of processes. */
void ft_scan_read_none(struct ft_scan *scan, const struct ft_trace_set *set);
void ft_scan_fini(struct ft_scan *scan);

/* Files that were touched at all. */
size_t ft_scan_count_files(const struct ft_scan *scan);

void ft_process_sum_add(struct ft_process_sum *to, const struct ft_process_sum *from);

#endif
