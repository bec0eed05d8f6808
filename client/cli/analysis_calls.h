// SPDX-License-Identifier: MIT
/*
 * Totals per call, from the heads of the blocks and the totals of dropped events, or of chosen rows; and the figures read, write, metadata
 * and other_io. Of dropped events it is not known on what kind of file they were: those of a call are shared out like
 * its stored ones, or taken for files where none was stored (bytes of asynchronous requests for read ones).
 */
#ifndef FT_CLI_ANALYSIS_CALLS_H
#define FT_CLI_ANALYSIS_CALLS_H

#include "client/cli/map.h"
#include "proto/trace_aggregate.h"
#include "proto/trace_set.h"

struct ft_sum {
    uint64_t count, bytes, time_ns;
};

/* Bytes of asynchronous requests: none of the time that is known is theirs, see ft_count_is_late(). */
struct ft_late_bytes {
    uint64_t read, write;
};

/* `part` is of `all`. */
static inline struct ft_sum ft_sum_without(const struct ft_sum *all, const struct ft_sum *part)
{
    return (struct ft_sum){
        .count = all->count - part->count, .bytes = all->bytes - part->bytes, .time_ns = all->time_ns - part->time_ns};
}

struct ft_call_sum {
    char *name, *category;       /* owned; any bytes of a span's, cut at a NUL */
    bool is_span;                /* of the application; else a call */
    unsigned group;              /* enum ft_group */
    bool is_late;                /* see ft_count_is_late() */
    struct ft_sum sum;           /* dropped ones included */
    struct ft_sum dropped;       /* of these */
    uint64_t stored_by_mask[16]; /* counts by mask of FT_COUNT_* */
    uint64_t errors, min_ns, max_ns;
    uint64_t sizes[FT_LOG2_BUCKETS], durations[FT_LOG2_BUCKETS];
};

/* Whether shortest, longest, percentiles and errors are known: of dropped ones there are sums alone. */
static inline bool ft_call_sum_knows_each(const struct ft_call_sum *call)
{
    return call->min_ns <= call->max_ns;
}

struct ft_calls {
    struct ft_call_sum *items;
    size_t count, space;
    struct ft_map index; /* kind, category, name */
    const struct ft_trace_reader *known_of;
    uint32_t known[FT_TRACE_CALL_MAX]; /* of that reader: position of its call's sum + 1; 0: not looked for yet */
    struct ft_sum read, write, metadata, other_io;
    struct ft_late_bytes late, dropped_late; /* of the bytes of reads and writes */
    struct ft_sum dropped_read, dropped_write,
        dropped_metadata; /* of these; their times and sizes one by one are unknown */
    uint64_t read_sizes[FT_LOG2_BUCKETS], write_sizes[FT_LOG2_BUCKETS]; /* of stored ones */
    uint64_t bad_blocks;                                                /* whose totals could not be read */
};

void ft_calls_init(struct ft_calls *calls);
void ft_calls_fini(struct ft_calls *calls);
/* Adds up the whole set. */
void ft_calls_read(struct ft_calls *calls, const struct ft_trace_set *set);
/* Whether some of the calls on files are stored, or there were none: of dropped ones nobody knows when they were. */
bool ft_calls_know_io_times(const struct ft_calls *calls);
/* One total of stored events. */
void ft_calls_add(struct ft_calls *calls, const struct ft_trace_reader *reader,
                  const struct ft_trace_aggregate *aggregate);

/* Columns of rows that are added up here. */
enum {
    FT_CALLS_COLUMNS =
        FT_COL_DUR | FT_COL_CALL | FT_COL_FILE | FT_COL_FILE2 | FT_COL_BYTES | FT_COL_ERR | FT_COL_NAME | FT_COL_HAS
};
/* The totals of these rows of one block, in the place of what the sums were of; a thread has its own. */
void ft_calls_sum_rows(struct ft_aggregator *sums, const struct ft_trace_reader *reader, const struct ft_rows *rows);
void ft_calls_add_sums(struct ft_calls *calls, const struct ft_trace_reader *reader, const struct ft_aggregator *sums);
/* Longest time first; the order of equal ones is that of their names. */
void ft_calls_sort(struct ft_calls *calls);

#endif
