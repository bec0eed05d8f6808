// SPDX-License-Identifier: MIT
/* The summary as text or JSON; `flowtap summary` prints it, and `flowtap run` at the end of a command. */
#ifndef FT_CLI_SUMMARY_H
#define FT_CLI_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include "client/cli/analysis_calls.h"
#include "client/cli/analysis_groups.h"
#include "client/cli/analysis_job.h"
#include "client/cli/analysis_scan.h"
#include "client/cli/analysis_state.h"
#include "client/cli/json.h"
#include "client/cli/options.h"
#include "client/cli/table.h"

struct ft_summary {
    const struct ft_trace_set *set;
    struct ft_calls calls; /* sorted */
    struct ft_scan scan;   /* of the events that are chosen */
    struct ft_scan whole;  /* of all, where `where` is not NULL */
    struct ft_job job;
    const char *where;              /* which events calls, scan and groups are of; NULL: all */
    const struct ft_groups *groups; /* NULL: none are wanted */
    struct ft_state state;
    bool is_quick; /* no event was looked at: the scan knows their number alone */
};

/* Whether there are events to choose from, or all is wanted: of sums nobody knows which of them `where` holds for. */
static inline bool ft_summary_can_choose(const struct ft_summary *summary)
{
    return !summary->where || summary->job.profiled == 0 || ft_trace_set_events(summary->set) > 0;
}

/*
 * Whether it is known when each stored event went on, and which came after which: of sums it is not, chosen or not; nor of
 * events that were all dropped, which nobody can choose.
 */
static inline bool ft_summary_knows_times(const struct ft_summary *summary)
{
    const struct ft_job *job = &summary->job;
    bool is_of_stored = summary->where || job->stored > 0 || job->dropped == 0;
    return is_of_stored && job->profiled == 0 && !summary->is_quick;
}
/* The same of calls on files: not all of them were dropped. */
bool ft_summary_knows_io_times(const struct ft_summary *summary);

/* Reads or writes. Of dropped ones neither times nor sizes are known one by one: what is of those is of the stored ones. */
struct ft_summary_side {
    struct ft_sum all, stored;
    uint64_t timed_bytes; /* of the stored ones, without those of asynchronous requests: what its time was for */
    uint64_t dropped;     /* how many */
    int64_t busy_ns;      /* union over time of the stored ones */
    bool knows_times;     /* and order; else busy_ns means nothing */
    uint64_t sized, small,
        empty; /* those whose size is known; of these, with less than FT_SUMMARY_SMALL_BITS, with none */
};

void ft_summary_side(const struct ft_summary *summary, bool is_write, struct ft_summary_side *side);

struct ft_summary_look {
    bool as_json;
    bool is_quick;            /* what the heads of blocks hold alone */
    size_t top;               /* rows of each table */
    struct ft_group_keys *by; /* groups that are wanted, too; NULL: none */
    const char *where;        /* only events of which this holds; NULL: all. Not with is_quick */
    bool with_stats;          /* how many blocks that passed over is said on stderr */
    const char *title;        /* what the first line names; NULL: the paths */
    const char *why_empty;    /* why there is no event, where the caller knows; else NULL */
    const char *doctor;       /* the command that says more of it; NULL: `flowtap doctor --trace PATH` */
};

/* Reads the paths and prints. FT_STATUS_DONE, or FT_STATUS_FAILED after a message. */
int ft_summary_show(const struct ft_strings *paths, FILE *out, const struct ft_summary_look *look);

/* A small request moves less than this many bits' worth of bytes: 4 KiB, a page, which most file systems read anyway. */
enum { FT_SUMMARY_SMALL_BITS = 12 };

/* Parts of it. */
void ft_summary_print_json(const struct ft_summary *summary, FILE *out, size_t top);
void ft_summary_put_percentiles(struct ft_json *json, const struct ft_call_sum *call);
void ft_summary_put_transfer(struct ft_json *json, const struct ft_summary *summary, bool is_write);
void ft_summary_put_moved(struct ft_json *json, const struct ft_summary *summary);
void ft_summary_put_hottest(struct ft_json *json, const struct ft_summary *summary, size_t top);
void ft_summary_put_stragglers(struct ft_json *json, const struct ft_summary *summary, size_t top);
void ft_summary_put_waits(struct ft_json *json, const struct ft_summary *summary, size_t top);
void ft_summary_put_categories(struct ft_json *json, const struct ft_summary *summary);
/* Indices of the `top` hottest of `count` files that `read`, `write` or `metadata` count, hottest first; a new array. */
uint32_t *ft_summary_hottest_files(const struct ft_summary *summary, size_t top, size_t *count);
/* Lines of the text: how data moved; the longest wait for data; a table of the slowest processes. */
void ft_summary_print_access(const struct ft_screen *screen, const struct ft_summary *summary);
void ft_summary_print_wait(const struct ft_screen *screen, const struct ft_summary *summary, int indent);
void ft_summary_print_stragglers(const struct ft_screen *screen, const struct ft_summary *summary, size_t top);
/* A table, where the application has spans. */
void ft_summary_print_categories(const struct ft_screen *screen, const struct ft_summary *summary);
void ft_summary_print_text(const struct ft_summary *summary, FILE *out, const struct ft_summary_look *look);

#endif
