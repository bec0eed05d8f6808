// SPDX-License-Identifier: MIT
/*
 * What happened when: the time from the trace's first to its last moment in bins of one width.
 *
 * The bytes and the time of a call are spread evenly over its interval, in whole bytes and nanoseconds, so that the bins
 * add up to the totals exactly. A call counts in the bin in which it starts. Of what came as sums (mode profile) calls, bytes and
 * times are spread evenly from the first to the last of the calls that a sum is of, and unions are not known.
 */
#ifndef FT_CLI_ANALYSIS_TIMELINE_H
#define FT_CLI_ANALYSIS_TIMELINE_H

#include "client/cli/analysis_intervals.h"
#include "client/cli/analysis_pass.h"

enum { FT_TIMELINE_BINS_MAX = 100000, FT_TIMELINE_CATEGORIES_MAX = 64 };

struct ft_timeline_sum {
    uint64_t calls, bytes, time_ns; /* bytes of `metadata`: none, as in a summary */
};

struct ft_timeline_bin {
    struct ft_timeline_sum read, write, metadata;
    uint64_t requests, request_bytes; /* reads and writes that start here, and what they moved in all */
    /* Unions: calls on files; spans of category compute; both at once. */
    int64_t io_ns, compute_ns, overlap_ns;
};

/* Time of threads in its events, without what went on inside them. */
struct ft_timeline_category {
    struct ft_bytes name; /* the set's; no data: all others, where there are too many */
    bool is_span;         /* some are spans: a library's or the application's */
    int64_t *bins_ns, total_ns;
};

struct ft_timeline {
    int64_t start_ns, end_ns, width_ns; /* start and end since the epoch */
    struct ft_timeline_bin *bins;
    size_t count;
    struct ft_timeline_bin total; /* of all bins */
    /* Longest first. Of events alone: where there are sums, too, they are not whole. */
    struct ft_timeline_category categories[FT_TIMELINE_CATEGORIES_MAX];
    size_t category_count;
    uint64_t profiled; /* so many events are in it as sums */
    bool knows_io;     /* not where all calls on files were dropped, or all events */
    bool knows_spans;  /* not where all events were dropped */
    uint64_t bad_blocks;
};

/* How the time is divided; one of the three is not 0. */
struct ft_timeline_wish {
    uint64_t bins;      /* so many, of one width */
    int64_t width_ns;   /* so wide */
    uint64_t bins_most; /* of a width of 1, 2 or 5 times a power of ten, and at most so many; two or more */
    bool without_categories;
    const struct ft_interval *windows; /* by process of the set: its calls are in unions within it alone; NULL: all */
};

/*
 * Of the events that `where` chooses (NULL: all), from the first of them to the last. 0, or -ERANGE where the bins would
 * be more than FT_TIMELINE_BINS_MAX.
 */
int ft_timeline_read(struct ft_timeline *timeline, const struct ft_trace_set *set, const struct ft_where *where,
                     const struct ft_timeline_wish *wish);
/* Adds a PROFILE frame's rows to `bins`; while the pass runs. */
void ft_timeline_add_sums(const struct ft_timeline *timeline, struct ft_timeline_bin *bins, const struct ft_pass *pass,
                          size_t reader, const struct ft_rows *rows);
/* Fills knows_io and knows_spans from its total. */
void ft_timeline_find_known(struct ft_timeline *timeline, const struct ft_trace_set *set, const struct ft_where *where);
void ft_timeline_fini(struct ft_timeline *timeline);

/* Length of bin i: the last one may be shorter. */
int64_t ft_timeline_length(const struct ft_timeline *timeline, size_t bin);
/* The bin that a time is in, the first or last for one outside; where a bin ends, INT64_MAX for the last. */
size_t ft_timeline_bin_of(const struct ft_timeline *timeline, int64_t time_ns);
int64_t ft_timeline_bin_end(const struct ft_timeline *timeline, size_t bin);
void ft_timeline_bin_add(struct ft_timeline_bin *to, const struct ft_timeline_bin *from);

#endif
