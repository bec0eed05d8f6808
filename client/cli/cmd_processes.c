// SPDX-License-Identifier: MIT
/* flowtap processes: the process tree, who they were, what was not seen. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/processes.h"
#include "client/cli/progress.h"
#include "client/cli/report.h"
#include "client/cli/where.h"

struct values {
    bool as_json;
    uint64_t top; /* 0: all */
    const char *sort, *by;
    const char *where;
    bool with_stats;
};

static const struct values defaults = {.sort = "tree"};

static const struct ft_option options[] = {
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document", offsetof(struct values, as_json), NULL},
    {FT_OPTION_COUNT, 'n', "top", "N", "only the first N; 0 (default): all", offsetof(struct values, top), NULL},
    {FT_OPTION_CHOICE, 's', "sort", "KEY", "tree (default), or largest first by one of " FT_PROCESSES_SORTS,
     offsetof(struct values, sort), FT_PROCESSES_SORTS},
    {FT_OPTION_CHOICE, 'b', "by", "WHAT", "one row for all processes of an " FT_PROCESSES_BY,
     offsetof(struct values, by), FT_PROCESSES_BY},
    FT_OPTION_WHERE(struct values, where),
    FT_OPTION_STATS(struct values, with_stats),
};

static void find_lived_on(struct ft_processes *processes)
{
    const struct ft_trace_set *set = processes->set;
    processes->lived_on = ft_cli_alloc((ft_trace_set_process_count(set) + 1) * sizeof(*processes->lived_on));
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        size_t count;
        const struct ft_trace_gap *gaps = ft_trace_reader_gaps(ft_trace_set_reader(set, r), &count);
        for (size_t i = 0; i < count; i++) {
            bool is_left = gaps[i].kind == FT_GAP_DAEMON_STOPPED || gaps[i].kind == FT_GAP_STILL_RUNNING;
            uint32_t p =
                is_left && gaps[i].process ? ft_trace_set_process_of(set, r, gaps[i].process) : FT_TRACE_SET_NONE;
            if (p != FT_TRACE_SET_NONE && ft_trace_set_process(set, p)->reader == r) {
                processes->lived_on[p] = true;
            }
        }
    }
}

static void read_all(struct ft_processes *processes, const struct ft_where *where)
{
    struct ft_progress progress;
    struct ft_scan chosen;
    ft_progress_begin(&progress, "reading events", ft_trace_set_events(processes->set) * (where ? 2 : 1));
    ft_scan_read(&processes->scan, processes->set, FT_SCAN_PROCESSES | FT_SCAN_PROCESS_TIMES, &progress);
    processes->sums = processes->scan.processes;
    processes->times = processes->scan.times.totals;
    if (where) {
        ft_scan_read_where(&chosen, processes->set, FT_SCAN_PROCESSES | FT_SCAN_PROCESS_TIMES, where, NULL, &progress);
        processes->sums = chosen.processes;
        processes->times = chosen.times.totals;
        chosen.processes = NULL;
        chosen.times.totals = NULL;
        ft_scan_fini(&chosen);
        processes->is_chosen = true;
    }
    ft_progress_end(&progress);
    ft_job_read(&processes->job, processes->set, &processes->scan);
    processes->state = ft_state_of(processes->set, processes->scan.bad_blocks);
    ft_processes_sort(processes);
    find_lived_on(processes);
}

static void release(struct ft_processes *processes)
{
    if (processes->is_chosen) {
        free(processes->sums);
        free(processes->times);
    }
    free(processes->lived_on);
    free(processes->order);
    free(processes->depths);
    free(processes->groups);
    ft_job_fini(&processes->job);
    ft_scan_fini(&processes->scan);
}

static void arrange(struct ft_processes *processes, const struct values *values)
{
    if (processes->is_chosen) {
        ft_processes_choose(processes);
    }
    if (values->by) {
        ft_processes_group(processes, values->by);
    }
    ft_processes_order_by(processes, values->sort);
    size_t count = values->by ? processes->group_count : processes->count;
    processes->shown = values->top && values->top < count ? values->top : count;
}

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    const struct values *values = values_untyped;
    struct ft_processes processes = {0};
    struct ft_report_where where;
    struct ft_trace_set *set;
    if (values->by && strcmp(values->sort, "lived") == 0) {
        return ft_cli_fail_usage("--sort lived puts processes in order, not the groups of --by");
    }
    int status = ft_report_where_open(&where, values->where, operands, &set);
    if (status != FT_STATUS_DONE) {
        return status;
    }
    processes.set = set;
    read_all(&processes, where.bound);
    arrange(&processes, values);
    if (values->as_json) {
        ft_processes_print_json(&processes, stdout);
    } else {
        ft_processes_print_text(&processes, stdout);
    }
    ft_report_warn_of_blocks(set, processes.scan.bad_blocks);
    release(&processes);
    ft_report_where_end(&where, set, values->with_stats);
    ft_trace_set_close(set);
    return ft_cli_finish_output(FT_STATUS_DONE);
}

const struct ft_command ft_command_processes = {
    .name = "processes",
    .summary = "the process tree, who they were, what was not seen",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    FT_COMMAND_READS_TRACES,
    .values_bytes = sizeof(struct values),
    .defaults = &defaults,
    .run = run,
};
