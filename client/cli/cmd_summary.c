// SPDX-License-Identifier: MIT
/* flowtap summary: the job at a glance. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/progress.h"
#include "client/cli/report.h"
#include "client/cli/summary.h"
#include "client/cli/units.h"

struct values {
    bool as_json, is_quick;
    uint64_t top;
    const char *by;
};

static const struct values defaults = {.top = 5};

static const struct ft_option options[] = {
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document", offsetof(struct values, as_json), NULL},
    {FT_OPTION_FLAG, 'q', "quick", NULL, "what the heads of blocks hold alone: calls, bytes, sums of times, at once",
     offsetof(struct values, is_quick), NULL},
    {FT_OPTION_COUNT, 'n', "top", "N", "rows of the tables of files, calls and processes (default: 5)",
     offsetof(struct values, top), NULL},
    {FT_OPTION_STRING, 'b', "by", "KEY,...",
     "also the figures of each group of events: tags such as epoch, or host, job, user, exe, pid, rank, cat, name",
     offsetof(struct values, by), NULL},
};

static int read_groups(struct ft_groups *groups, struct ft_group_keys *keys, const struct ft_trace_set *set)
{
    struct ft_unit_text most;
    ft_group_keys_bind(keys, set);
    ft_groups_read(groups, keys, set, NULL);
    if (groups->are_too_many) {
        ft_groups_fini(groups);
        ft_group_keys_fini(keys);
        return ft_cli_fail("more than %s groups: fewer keys (--by), or `flowtap events --by`",
                           ft_units_count(&most, FT_GROUPS_MAX));
    }
    return FT_STATUS_DONE;
}

/* Not every part decodes the same blocks. */
static uint64_t most_bad_blocks(const struct ft_summary *summary, const struct ft_groups *groups)
{
    uint64_t most = summary->scan.bad_blocks;
    most = summary->calls.bad_blocks > most ? summary->calls.bad_blocks : most;
    return groups && groups->bad_blocks > most ? groups->bad_blocks : most;
}

int ft_summary_show(const struct ft_strings *paths, FILE *out, const struct ft_summary_look *look)
{
    struct ft_trace_set *set;
    struct ft_summary summary;
    struct ft_progress progress;
    struct ft_groups groups;
    if ((look->is_quick ? ft_report_open_without_files : ft_report_open)(paths, &set) != FT_STATUS_DONE) {
        return FT_STATUS_FAILED;
    }
    /* First: whether there are too many is known before all else is read. */
    if (look->by && read_groups(&groups, look->by, set) != FT_STATUS_DONE) {
        ft_trace_set_close(set);
        return FT_STATUS_FAILED;
    }
    memset(&summary, 0, sizeof(summary));
    summary.set = set;
    summary.is_quick = look->is_quick;
    ft_progress_begin(&progress, "reading events", ft_trace_set_events(set));
    ft_calls_init(&summary.calls);
    ft_calls_read(&summary.calls, set);
    ft_calls_sort(&summary.calls);
    if (look->is_quick) {
        ft_scan_read_none(&summary.scan, set);
    } else {
        ft_scan_read(&summary.scan, set,
                     FT_SCAN_FILES | FT_SCAN_PROCESSES | FT_SCAN_UNIONS | FT_SCAN_PROCESS_TIMES | FT_SCAN_ACCESS,
                     &progress);
    }
    ft_progress_end(&progress);
    ft_job_read(&summary.job, set, &summary.scan);
    uint64_t bad_blocks = most_bad_blocks(&summary, look->by ? &groups : NULL);
    summary.state = ft_state_of(set, bad_blocks);
    summary.groups = look->by ? &groups : NULL;
    ft_report_warn_of_blocks(set, bad_blocks);
    if (look->as_json) {
        ft_summary_print_json(&summary, out, look->top);
    } else {
        struct ft_summary_look own = *look;
        char *title = ft_report_title(paths, look->title, set);
        own.title = title;
        ft_summary_print_text(&summary, out, &own);
        free(title);
    }
    if (look->by) {
        ft_groups_fini(&groups);
        ft_group_keys_fini(look->by);
    }
    ft_job_fini(&summary.job);
    ft_scan_fini(&summary.scan);
    ft_calls_fini(&summary.calls);
    ft_trace_set_close(set);
    return FT_STATUS_DONE;
}

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    const struct values *values = values_untyped;
    struct ft_summary_look look = {.as_json = values->as_json, .is_quick = values->is_quick, .top = values->top};
    struct ft_group_keys keys;
    char error[128];
    if (values->by && values->is_quick) {
        return ft_cli_fail_usage("--quick does not look at events, as --by has to; give one of them");
    }
    if (values->by && ft_group_keys_parse(&keys, values->by, error, sizeof(error)) < 0) {
        ft_group_keys_fini(&keys);
        return ft_cli_fail_usage("--by: %s", error);
    }
    look.by = values->by ? &keys : NULL;
    return ft_cli_finish_output(ft_summary_show(operands, stdout, &look));
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
