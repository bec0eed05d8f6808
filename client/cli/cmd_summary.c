// SPDX-License-Identifier: MIT
/* flowtap summary: the job at a glance. */
#include <stdint.h>
#include <stdlib.h>

#include "client/cli/cli.h"
#include "client/cli/progress.h"
#include "client/cli/report.h"
#include "client/cli/summary.h"
#include "client/cli/units.h"
#include "client/cli/where.h"

struct values {
    bool as_json, is_quick;
    uint64_t top;
    const char *by, *where;
    bool with_stats;
};

static const struct values defaults = {.top = 5};

static const struct ft_option options[] = {
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document", offsetof(struct values, as_json), NULL},
    {FT_OPTION_FLAG, 'q', "quick", NULL, "what the heads of blocks hold alone: calls, bytes, sums of times, at once",
     offsetof(struct values, is_quick), NULL},
    {FT_OPTION_COUNT, 'n', "top", "N", "rows of the tables of files, calls and processes; 0: all (default: 5)",
     offsetof(struct values, top), NULL},
    {FT_OPTION_STRING, 'b', "by", "KEY,...",
     "also the figures of each group of events: tags such as epoch, or host, job, user, exe, pid, rank, cat, name",
     offsetof(struct values, by), NULL},
    FT_OPTION_WHERE(struct values, where),
    FT_OPTION_STATS(struct values, with_stats),
};

/* What it counts of blocks is left to the scan, which looks at the same ones. */
static int read_groups(struct ft_groups *groups, struct ft_group_keys *keys, const struct ft_trace_set *set,
                       const struct ft_where *where)
{
    struct ft_unit_text most;
    ft_group_keys_bind(keys, set);
    ft_groups_read(groups, keys, set, where);
    if (where) {
        *where->stats = (struct ft_where_stats){0};
    }
    if (groups->are_too_many) {
        ft_groups_fini(groups);
        return ft_cli_fail("more than %s groups: fewer keys (--by), or `flowtap events --by`",
                           ft_units_count(&most, FT_GROUPS_MAX));
    }
    return FT_STATUS_DONE;
}

/* Not every part decodes the same blocks. */
static uint64_t most_bad_blocks(const struct ft_summary *summary)
{
    uint64_t most = summary->scan.bad_blocks;
    most = summary->calls.bad_blocks > most ? summary->calls.bad_blocks : most;
    most = summary->whole.bad_blocks > most ? summary->whole.bad_blocks : most;
    return summary->groups && summary->groups->bad_blocks > most ? summary->groups->bad_blocks : most;
}

/* Who and what was not seen is told of the whole job; the whole scan tells, too, which paths are one file. */
static void read_chosen(struct ft_summary *summary, unsigned parts, const struct ft_where *where,
                        struct ft_progress *progress)
{
    ft_scan_read(&summary->whole, summary->set, FT_SCAN_FILES | FT_SCAN_PROCESSES, progress);
    ft_scan_read_chosen(&summary->scan, summary->set, parts, where, &summary->whole, &summary->calls, progress);
}

static void read_events(struct ft_summary *summary, const struct ft_where *where)
{
    const unsigned parts = FT_SCAN_FILES | FT_SCAN_PROCESSES | FT_SCAN_UNIONS | FT_SCAN_PROCESS_TIMES | FT_SCAN_ACCESS;
    struct ft_progress progress;
    ft_progress_begin(&progress, "reading events", ft_trace_set_events(summary->set) * (where ? 2 : 1));
    ft_calls_init(&summary->calls);
    if (where) {
        read_chosen(summary, parts, where, &progress);
    } else {
        ft_calls_read(&summary->calls, summary->set);
        if (summary->is_quick) {
            ft_scan_read_none(&summary->scan, summary->set);
        } else {
            ft_scan_read(&summary->scan, summary->set, parts, &progress);
        }
    }
    ft_progress_end(&progress);
    ft_calls_sort(&summary->calls);
    ft_job_read(&summary->job, summary->set, where ? &summary->whole : &summary->scan);
}

static void print(const struct ft_summary *summary, const struct ft_strings *paths, FILE *out,
                  const struct ft_summary_look *look)
{
    if (look->as_json) {
        ft_summary_print_json(summary, out, look->top);
    } else {
        struct ft_summary_look own = *look;
        char *title = ft_report_title(paths, look->title, summary->set);
        own.title = title;
        ft_summary_print_text(summary, out, &own);
        free(title);
    }
}

static int read_and_print(const struct ft_trace_set *set, const struct ft_strings *paths, FILE *out,
                          const struct ft_summary_look *look, const struct ft_where *where)
{
    struct ft_summary summary = {.set = set, .is_quick = look->is_quick, .where = look->where};
    struct ft_groups groups;
    /* First: whether there are too many is known before all else is read. */
    if (look->by && read_groups(&groups, look->by, set, where) != FT_STATUS_DONE) {
        return FT_STATUS_FAILED;
    }
    summary.groups = look->by ? &groups : NULL;
    read_events(&summary, where);
    uint64_t bad_blocks = most_bad_blocks(&summary);
    summary.state = ft_state_of(set, bad_blocks);
    ft_report_warn_of_blocks(set, bad_blocks);
    print(&summary, paths, out, look);
    if (look->by) {
        ft_groups_fini(&groups);
    }
    ft_job_fini(&summary.job);
    ft_scan_fini(&summary.whole);
    ft_scan_fini(&summary.scan);
    ft_calls_fini(&summary.calls);
    return FT_STATUS_DONE;
}

int ft_summary_show(const struct ft_strings *paths, FILE *out, const struct ft_summary_look *look)
{
    struct ft_report_where where = {0};
    struct ft_trace_set *set;
    int status = look->is_quick ? ft_report_open_without_files(paths, &set)
                                : ft_report_where_open(&where, look->where, paths, &set);
    if (status != FT_STATUS_DONE) {
        return status;
    }
    status = read_and_print(set, paths, out, look, where.bound);
    ft_report_where_end(&where, set, look->with_stats && status == FT_STATUS_DONE);
    ft_trace_set_close(set);
    return status;
}

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    const struct values *values = values_untyped;
    struct ft_summary_look look = {.as_json = values->as_json,
                                   .is_quick = values->is_quick,
                                   .top = values->top > 0 && values->top < SIZE_MAX ? (size_t)values->top : SIZE_MAX,
                                   .where = values->where,
                                   .with_stats = values->with_stats};
    struct ft_group_keys keys;
    char error[128];
    if ((values->by || values->where) && values->is_quick) {
        return ft_cli_fail_usage("--quick does not look at events, as %s has to; give one of them",
                                 values->by ? "--by" : "--where");
    }
    if (values->by && ft_group_keys_parse(&keys, values->by, error, sizeof(error)) < 0) {
        ft_group_keys_fini(&keys);
        return ft_cli_fail_usage("--by: %s", error);
    }
    look.by = values->by ? &keys : NULL;
    int status = ft_cli_finish_output(ft_summary_show(operands, stdout, &look));
    if (look.by) {
        ft_group_keys_fini(&keys);
    }
    return status;
}

const struct ft_command ft_command_summary = {
    .name = "summary",
    .summary = "the job at a glance",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    FT_COMMAND_READS_TRACES,
    .values_bytes = sizeof(struct values),
    .defaults = &defaults,
    .run = run,
};
