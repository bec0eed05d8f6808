// SPDX-License-Identifier: MIT
/* What one thread of a scan adds up: its own sums, and the intervals of the block at hand. For analysis_scan.c. */
#ifndef FT_CLI_ANALYSIS_SCAN_PART_H
#define FT_CLI_ANALYSIS_SCAN_PART_H

#include <pthread.h>

#include "client/cli/analysis_scan.h"
#include "client/cli/analysis_touched.h"

struct ft_scan_call {
    uint8_t group;        /* enum ft_group */
    uint8_t kernel_sides; /* see ft_count_kernel_sides() */
    uint8_t reuse;        /* enum ft_reuse_kind */
    uint8_t stream;       /* see ft_count_of_stream() */
    bool is_counted, is_open;
};

/* What all threads read, and add to. */
struct ft_scan_work {
    const struct ft_trace_set *set;
    const struct ft_entries *entries;
    struct ft_scan_call (*calls)[FT_TRACE_CALL_MAX]; /* by reader */
    struct ft_file_sum *files;                       /* by entry, under files_lock */
    pthread_mutex_t files_lock;
    struct ft_touched touched;
    const struct ft_where *where; /* NULL: all events */
    size_t process_count;
    unsigned parts;
};

/* Rows of one run that follow each other with the same call and files: added up first, then booked together. */
struct ft_scan_batch {
    const struct ft_scan_call *call;
    uint32_t file, file2; /* entries; FT_ENTRY_NONE: none */
    uint32_t process;
    unsigned mask;    /* of FT_COUNT_* */
    int64_t first_ns; /* since the epoch */
    bool is_memory, is_identified;
    uint64_t count, errors, bytes, time_ns;
};

struct ft_scan_part {
    struct ft_scan_work *work;
    /* of the block at hand */
    const struct ft_trace_reader *reader;
    size_t reader_index;
    const struct ft_entry_ref *refs; /* by file id up to file_max */
    uint32_t file_max;
    int64_t realtime_offset_ns;
    struct ft_scan_batch batch;
    struct ft_scan_files files;
    uint32_t *run_files; /* entries that the run at hand touched, each once */
    size_t run_file_count, run_file_space;
    uint32_t run; /* counted from 1 */
    /* added up */
    struct ft_process_sum *processes;
    struct ft_intervals lists[FT_SWEEP_COUNT];
    struct ft_reuse_marks marks;
    uint64_t rows;
};

struct ft_scan_call (*ft_scan_make_calls(const struct ft_trace_set *set))[FT_TRACE_CALL_MAX];

void ft_scan_part_init(struct ft_scan_part *part, struct ft_scan_work *work);
void ft_scan_part_fini(struct ft_scan_part *part);
uint32_t ft_scan_part_columns(unsigned parts);
/* Adds a block's rows; leaves its intervals, normal, in `lists`. */
void ft_scan_part_add(struct ft_scan_part *part, size_t reader, const struct ft_rows *rows);

/*
 * After all parts: entries that are one file become one, and the processes of each are counted. `whole` knows which are
 * one; NULL: this scan does.
 */
void ft_scan_join_files(struct ft_scan *scan, const struct ft_touched *touched, const struct ft_scan *whole);

#endif
