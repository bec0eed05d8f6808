// SPDX-License-Identifier: MIT
/*
 * What processes that compute wait for their data: how long spans of io and data went on in each without its own
 * computing. Of the whole job that is nothing where one computes while another waits, or workers fetch.
 */
#include <stdlib.h>

#include "client/cli/cli.h"
#include "client/cli/report.h"
#include "client/cli/summary.h"
#include "client/cli/units.h"

struct wait {
    uint32_t process;
    int64_t wait_ns;
};

static int longest_first(const void *a_untyped, const void *b_untyped)
{
    const struct wait *a = a_untyped, *b = b_untyped;
    return a->wait_ns != b->wait_ns ? (a->wait_ns < b->wait_ns ? 1 : -1)
                                    : (a->process > b->process) - (a->process < b->process);
}

/* Of processes that came as sums, or whose spans may be among what was dropped, it is not known. A new array. */
static struct wait *find_waits(const struct ft_summary *summary, size_t *count)
{
    const struct ft_scan *scan = &summary->scan;
    struct wait *found = ft_cli_alloc(scan->process_count * sizeof(*found));
    *count = 0;
    for (uint32_t p = 0; p < scan->process_count; p++) {
        const struct ft_sweep_totals *totals = &scan->times.totals[p];
        bool is_known = scan->processes[p].profiled == 0 && (summary->where || ft_job_is_comparable(summary->set, p));
        int64_t wait_ns = totals->total_ns[FT_SWEEP_APP_IO] - totals->app_io_and_compute_ns;
        if (is_known && totals->total_ns[FT_SWEEP_COMPUTE] > 0 && wait_ns > 0) {
            found[(*count)++] = (struct wait){.process = p, .wait_ns = wait_ns};
        }
    }
    if (*count > 1) {
        qsort(found, *count, sizeof(*found), longest_first);
    }
    return found;
}

void ft_summary_put_waits(struct ft_json *json, const struct ft_summary *summary, size_t top)
{
    size_t count;
    struct wait *found = find_waits(summary, &count);
    ft_json_key(json, "waits");
    ft_json_begin_array(json);
    for (size_t i = 0; i < count && i < top; i++) {
        ft_json_begin_object(json);
        ft_report_json_who(json, summary->set, found[i].process);
        ft_json_member_seconds(json, "time", found[i].wait_ns);
        ft_json_end_object(json);
    }
    ft_json_end_array(json);
    ft_json_member_uint(json, "waits_found", count);
    free(found);
}

void ft_summary_print_wait(const struct ft_screen *screen, const struct ft_summary *summary, int indent)
{
    struct ft_unit_text longest;
    size_t count;
    struct wait *found = find_waits(summary, &count);
    if (count > 0) {
        uint32_t pid = ft_trace_set_process(summary->set, found[0].process)->record->pid;
        fprintf(screen->out, "%*s%s of them in process %u not overlapped by its own computing", indent, "",
                ft_units_time(&longest, found[0].wait_ns), pid);
        fprintf(screen->out, count > 1 ? ", the most of %zu processes\n" : "\n", count);
    }
    free(found);
}
