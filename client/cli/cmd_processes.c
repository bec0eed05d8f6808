// SPDX-License-Identifier: MIT
/* flowtap processes: the process tree, who they were, what was not seen. */
#include <stdlib.h>

#include "client/cli/cli.h"
#include "client/cli/processes.h"
#include "client/cli/progress.h"
#include "client/cli/report.h"

struct values {
    bool as_json;
};

static const struct ft_option options[] = {
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document", offsetof(struct values, as_json), NULL},
};

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    const struct values *values = values_untyped;
    struct ft_processes processes = {0};
    struct ft_trace_set *set;
    struct ft_progress progress;
    if (ft_report_open(operands, &set) != FT_STATUS_DONE) {
        return FT_STATUS_FAILED;
    }
    processes.set = set;
    ft_progress_begin(&progress, "reading events", ft_trace_set_events(set));
    ft_scan_read(&processes.scan, set, FT_SCAN_PROCESSES, &progress);
    ft_progress_end(&progress);
    ft_job_read(&processes.job, set, &processes.scan);
    processes.is_partial = ft_trace_set_is_partial(set) || processes.scan.bad_blocks;
    ft_processes_sort(&processes);
    if (values->as_json) {
        ft_processes_print_json(&processes, stdout);
    } else {
        ft_processes_print_text(&processes, stdout);
    }
    free(processes.order);
    free(processes.depths);
    ft_job_fini(&processes.job);
    ft_scan_fini(&processes.scan);
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
    .run = run,
};
