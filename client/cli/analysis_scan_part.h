// SPDX-License-Identifier: MIT
/* What one thread of a scan adds up: its own sums, and what is to be known of the block at hand. For analysis_scan.c. */
#ifndef FT_CLI_ANALYSIS_SCAN_PART_H
#define FT_CLI_ANALYSIS_SCAN_PART_H

#include <pthread.h>

#include "client/cli/analysis_scan.h"
#include "client/cli/analysis_touched.h"

struct ft_scan_call {
    uint8_t group;        /* enum ft_group; OTHER where the call's category is not counted */
    uint8_t side;         /* enum ft_side of `file` */
    uint8_t bytes_side;   /* the same of its bytes */
    uint8_t kernel_sides; /* see ft_count_kernel_sides() */
    uint8_t reuse;        /* enum ft_reuse_kind */
    uint8_t stream;       /* see ft_count_of_stream() */
    bool is_transfer, is_open, is_late;
};

/* What a call adds to, by the classes of its files. */
struct ft_scan_effect {
    ft_scan_counts counts[2];                   /* of one without an error, of one with an error */
    uint64_t io_time, metadata_time, move_time; /* all bits where its time counts so */
    uint8_t mask;                               /* FT_COUNT_* */
    uint8_t moved;                              /* FT_COUNT_READ or _WRITE: where its bytes go in the process's sums */
    uint8_t kernel_sides;                       /* 0 of memory */
    uint8_t side, bytes_side;                   /* as in ft_scan_call */
    uint8_t flags;                              /* FT_SCAN_IS_* */
    uint8_t busy;                               /* FT_PACKED_* of what it moves, and FT_SCAN_BUSY where it is I/O */
};

enum {
    FT_SCAN_IS_REQUEST = 1, /* what has a place in the order of accesses */
    FT_SCAN_IS_MOVE = 2,    /* may add to more than counts and times of I/O */
    FT_SCAN_IS_RARE = 4,    /* removes, renames or links, or tells late bytes: adds to what few calls do */
};
enum { FT_SCAN_BUSY = 1 << FT_PACKED_MOVED_BITS };

struct ft_scan_calls {
    struct ft_scan_call calls[FT_TRACE_CALL_MAX];
    struct ft_scan_effect effects[FT_SCAN_VARIANTS][FT_TRACE_CALL_MAX]; /* of calls without a second file */
};

/* What all threads read, and add to. */
struct ft_scan_work {
    const struct ft_trace_set *set;
    const struct ft_entries *entries;
    const struct ft_scan_calls **calls; /* by reader; equal ones are one */
    struct ft_file_sums *files;         /* by entry, under files_lock */
    pthread_mutex_t files_lock;
    struct ft_touched touched;
    const struct ft_where *where; /* NULL: all events */
    size_t process_count, place_count;
    unsigned parts;
};

/* Rows that are added at a time: what is noted of each stays in the cache. */
enum { FT_SCAN_PIECE = 512 };
/* What is to be known of a row: that it is of another call or file than the one before; that it is no call with one file. */
enum { FT_SCAN_ROW_NEW = 1, FT_SCAN_ROW_OTHER = 2 };

struct ft_scan_part {
    struct ft_scan_work *work;
    /* of the block at hand */
    const struct ft_trace_reader *reader;
    size_t reader_index;
    const struct ft_scan_call *calls;
    const struct ft_scan_effect (*effects)[FT_TRACE_CALL_MAX];
    int64_t realtime_offset_ns, base_ns; /* base: monotonic */
    struct ft_scan_files files;
    uint32_t file_at[FT_SCAN_PIECE];                  /* of each row at hand: where its file stands in `files` */
    uint8_t busy_as[FT_SCAN_PIECE];                   /* ft_scan_effect.busy; 0 of what is no call */
    uint8_t row_as[FT_SCAN_PIECE + sizeof(uint64_t)]; /* FT_SCAN_ROW_*; 0: as the row before. None is behind the last */
    uint32_t *run_files; /* entries that the run at hand touched, each once; room for two of each row */
    size_t run_file_count, run_file_space;
    bool are_known;      /* all files of the block's rows have records */
    uint32_t run;        /* counted from 1, over all blocks */
    uint64_t late_bytes; /* of the run at hand, as of ft_process_sum */
    struct ft_scan_order *order;
    struct ft_access_run *accesses; /* of its runs */
    size_t access_count, run_space;
    struct ft_busy busy;
    /* added up */
    struct ft_process_sum *processes;
    struct ft_reuse_marks marks;
    struct ft_access_counts access_counts;
    uint64_t rows;
};

struct ft_scan_effect ft_scan_effect_of(const struct ft_scan_call *call, unsigned file_class, unsigned file2_class,
                                        bool is_memory);
/* By reader; release with ft_scan_free_calls(). */
const struct ft_scan_calls **ft_scan_make_calls(const struct ft_trace_set *set);
/* Whether a trace of the set has calls of this kind. */
bool ft_scan_has_reuse(const struct ft_scan_work *work, enum ft_reuse_kind kind);
void ft_scan_free_calls(const struct ft_scan_calls **calls, const struct ft_trace_set *set);

void ft_scan_part_init(struct ft_scan_part *part, struct ft_scan_work *work);
void ft_scan_part_fini(struct ft_scan_part *part);
uint32_t ft_scan_part_columns(const struct ft_scan_work *work);
/* Adds a block's rows; `busy` and `accesses` are then the block's. */
void ft_scan_part_add(struct ft_scan_part *part, size_t reader, const struct ft_trace_block *head,
                      const struct ft_rows *rows);

/* The rows of one run (analysis_scan_rows.c); `sum` gets what they add to their process's, events aside. */
void ft_scan_rows_add(struct ft_scan_part *part, const struct ft_rows *of_block, const struct ft_run *which,
                      struct ft_process_sum *sum);
/* Finds the files of `count` rows of a run from `first` on, and notes those that it had not touched yet (…_find.c). */
void ft_scan_find_files(struct ft_scan_part *part, const struct ft_rows *rows, size_t first, size_t count);
/* Whether the files of all rows have records. */
bool ft_scan_are_known(const struct ft_scan_files *files, const struct ft_rows *rows);
/* The run at hand touched a file. */
static inline void ft_scan_keep_touched(struct ft_scan_part *part, const struct ft_scan_file *file)
{
    part->run_files[part->run_file_count] = file->entry;
    part->run_file_count += file->entry != FT_ENTRY_NONE;
}
/* Since the epoch; clamped. */
int64_t ft_scan_part_realtime(const struct ft_scan_part *part, int64_t mono_ns);

/* Adds the sums of PROFILE frames to files and processes. `rows` of the scan then counts the events that they stand for. */
void ft_scan_add_sums(struct ft_scan *scan, struct ft_scan_work *work);

struct ft_scan_pair {
    uint32_t process, entry;
};

/*
 * After all parts: entries that are one file become one. `shared`: who touched entries with a path_id; the others'
 * processes are counted already. `whole` knows which are one; NULL: this scan does.
 */
void ft_scan_join_files(struct ft_scan *scan, const struct ft_scan_pair *shared, size_t shared_count,
                        const struct ft_scan *whole);

/* A path that a call (of this enum ft_reuse_kind) made, and of which nothing else is known, is the first file's. */
bool ft_scan_is_only_made(const struct ft_entries *entries, const struct ft_scan_file *file, unsigned reuse);

#endif
