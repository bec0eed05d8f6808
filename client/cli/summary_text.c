// SPDX-License-Identifier: MIT
/* The summary for a person: the five facts first. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_count.h"
#include "client/cli/analysis_percentile.h"
#include "client/cli/cli.h"
#include "client/cli/report.h"
#include "client/cli/summary.h"
#include "client/cli/summary_groups.h"
#include "client/cli/table.h"
#include "client/cli/text.h"
#include "client/cli/units.h"

enum { GAPS_MAX = 8, LABEL_WIDTH = 13 };

static void print_label(const struct ft_screen *screen, const char *label)
{
    ft_screen_print(screen, FT_STYLE_TITLE, "%-*s", LABEL_WIDTH, label);
}

static void print_wall(const struct ft_screen *screen, const struct ft_summary *summary)
{
    struct ft_unit_text wall, io, share;
    int64_t wall_ns = summary->job.has_span ? summary->job.end_ns - summary->job.start_ns : 0;
    int64_t io_ns = summary->scan.sweep.totals.total_ns[FT_SWEEP_IO];
    print_label(screen, "Wall time");
    if (!ft_summary_knows_io_times(summary)) {
        fprintf(screen->out, "%s\n", ft_units_time(&wall, wall_ns));
        return;
    }
    bool lacks_some = summary->job.dropped > 0 && !summary->where;
    fprintf(screen->out, "%s, %s%s of it (%s) with I/O on files going on%s\n", ft_units_time(&wall, wall_ns),
            lacks_some ? "at least " : "", ft_units_time(&io, io_ns),
            ft_units_share(&share, (double)io_ns, (double)wall_ns), lacks_some ? " (that of stored calls)" : "");
}

static void print_chosen(const struct ft_screen *screen, const struct ft_summary *summary)
{
    struct ft_unit_text chosen, all;
    if (summary->where) {
        char *where = ft_text_escape(summary->where, strlen(summary->where), FT_TEXT_SHOW);
        print_label(screen, "Chosen");
        if (ft_summary_can_choose(summary)) {
            fprintf(screen->out, "%s of %s events: %s\n", ft_units_count(&chosen, summary->scan.rows),
                    ft_units_count(&all, summary->job.stored), where);
        } else {
            fprintf(screen->out, "unknown, since there are sums alone (mode profile): %s\n", where);
        }
        free(where);
    }
}

/* Of a profile, or of a job that became one. */
static void print_profiled(const struct ft_screen *screen, const struct ft_summary *summary)
{
    const struct ft_job *job = &summary->job;
    struct ft_unit_text count, since;
    if (job->profiled == 0 && job->capped_since_ns == 0) {
        return;
    }
    print_label(screen, "Profile");
    fprintf(screen->out, "of %s events there are sums alone", ft_units_count(&count, job->profiled));
    if (job->capped_since_ns) {
        fprintf(screen->out, ": the job passed its cap %s after its start",
                ft_units_time(&since, job->capped_since_ns - job->start_ns));
    }
    fputc('\n', screen->out);
}

static void print_sum(const struct ft_screen *screen, const char *label, const struct ft_sum *sum, bool has_bytes,
                      uint64_t late_bytes)
{
    struct ft_unit_text bytes, count, time, rate;
    int64_t time_ns = sum->time_ns > INT64_MAX ? INT64_MAX : (int64_t)sum->time_ns;
    print_label(screen, label);
    if (has_bytes) {
        fprintf(screen->out, "%s in ", ft_units_bytes(&bytes, sum->bytes));
    }
    fprintf(screen->out, "%s, %s", ft_units_counted(&count, sum->count, "call", "calls"),
            ft_units_time(&time, time_ns));
    if (has_bytes && sum->bytes > late_bytes && time_ns) {
        fprintf(screen->out, ", %s", ft_units_rate(&rate, sum->bytes - late_bytes, time_ns));
    }
    fputc('\n', screen->out);
}

static void print_sums(const struct ft_screen *screen, const struct ft_calls *calls)
{
    print_sum(screen, "Read", &calls->read, true, calls->late.read);
    print_sum(screen, "Written", &calls->write, true, calls->late.write);
    print_sum(screen, "Metadata", &calls->metadata, false, 0);
    if (calls->other_io.count > 0) {
        print_sum(screen, "Other I/O", &calls->other_io, true, 0);
    }
}

static void print_app(const struct ft_screen *screen, const struct ft_sweep *sweep, bool io_is_known)
{
    struct ft_unit_text app, compute, lone, data, waiting;
    int64_t data_ns = sweep->totals.total_ns[FT_SWEEP_APP_IO];
    if (sweep->totals.total_ns[FT_SWEEP_APP] == 0) {
        return;
    }
    print_label(screen, "Application");
    fprintf(screen->out, "%s in its own spans, %s of it computing",
            ft_units_time(&app, sweep->totals.total_ns[FT_SWEEP_APP]),
            ft_units_time(&compute, sweep->totals.total_ns[FT_SWEEP_COMPUTE]));
    if (io_is_known) {
        fprintf(screen->out, "; %s of the I/O not overlapped by computing",
                ft_units_time(&lone, sweep->totals.total_ns[FT_SWEEP_IO] - sweep->totals.io_and_compute_ns));
    }
    fputc('\n', screen->out);
    if (data_ns > 0) {
        fprintf(screen->out, "%*s%s in those of io and data, %s of it not overlapped by computing\n", LABEL_WIDTH, "",
                ft_units_time(&data, data_ns), ft_units_time(&waiting, data_ns - sweep->totals.app_io_and_compute_ns));
    }
}

static void add_time(struct ft_table *table, uint64_t ns)
{
    struct ft_unit_text text;
    ft_table_add(table, ft_units_time(&text, ns > INT64_MAX ? INT64_MAX : (int64_t)ns));
}

static void add_bytes(struct ft_table *table, uint64_t bytes)
{
    struct ft_unit_text text;
    ft_table_add(table, bytes ? ft_units_bytes(&text, bytes) : "-");
}

static void add_count(struct ft_table *table, uint64_t count)
{
    struct ft_unit_text text;
    ft_table_add(table, count ? ft_units_count(&text, count) : "-");
}

static void print_files(const struct ft_screen *screen, const struct ft_summary *summary, size_t top)
{
    struct ft_column columns[] = {{"TIME", true, false},  {"READ", true, false},      {"WRITTEN", true, false},
                                  {"CALLS", true, false}, {"PROCESSES", true, false}, {"HOST", false, false},
                                  {"PATH", false, true}};
    size_t count;
    uint32_t *order = ft_summary_hottest_files(summary, top, &count);
    struct ft_table table;
    struct ft_unit_text number;
    ft_table_init(&table, columns, ft_report_host_column(columns, sizeof(columns) / sizeof(columns[0]), summary->set));
    for (size_t i = 0; i < count && i < top; i++) {
        struct ft_file_sum sum = ft_file_sums_get(&summary->scan.files, order[i]);
        const struct ft_entry *file = &summary->scan.entries.items[order[i]];
        struct ft_bytes path = ft_entry_path(&summary->scan.entries, file);
        add_time(&table, ft_file_sums_time(&summary->scan.files, order[i]));
        add_bytes(&table, sum.read_bytes);
        add_bytes(&table, sum.written_bytes);
        add_count(&table, sum.reads + sum.writes + sum.metadata);
        add_count(&table, sum.processes);
        ft_report_add_host(&table, summary->set, file->reader);
        ft_table_add_bytes(&table, path.len ? path.data : "(no name)", path.len ? path.len : 9);
    }
    if (count > 0 && top > 0) {
        ft_screen_print(screen, FT_STYLE_TITLE, "\nHottest files");
        fprintf(screen->out, " (of %s)\n", ft_units_count(&number, count));
        ft_table_print(&table, screen, 2);
    }
    ft_table_fini(&table);
    free(order);
}

/* Of calls that were all dropped none is known by itself. */
static void add_duration(struct ft_table *table, const struct ft_call_sum *call, uint64_t ns)
{
    if (ft_call_sum_knows_each(call)) {
        add_time(table, ns);
    } else {
        ft_table_add(table, "-");
    }
}

/* Calls, or spans of the application, which hold calls: each have a table of their own. */
static void print_calls(const struct ft_screen *screen, const struct ft_calls *calls, bool are_spans, size_t top)
{
    static const struct ft_column columns[] = {
        {"TIME", true, false}, {"CALLS", true, false},   {"BYTES", true, false},  {"P50", true, false},
        {"P99", true, false},  {"LONGEST", true, false}, {"ERRORS", true, false}, {"CALL", false, false}};
    static const struct ft_column span_columns[] = {{"TIME", true, false},    {"SPANS", true, false},
                                                    {"P50", true, false},     {"P99", true, false},
                                                    {"LONGEST", true, false}, {"SPAN", false, false}};
    struct ft_table table;
    ft_table_init(&table, are_spans ? span_columns : columns,
                  are_spans ? sizeof(span_columns) / sizeof(span_columns[0]) : sizeof(columns) / sizeof(columns[0]));
    size_t shown = 0;
    for (size_t i = 0; i < calls->count && shown < top; i++) {
        const struct ft_call_sum *call = &calls->items[i];
        if (call->is_span != are_spans) {
            continue;
        }
        shown++;
        add_time(&table, call->sum.time_ns);
        add_count(&table, call->sum.count);
        if (!are_spans) {
            add_bytes(&table, call->sum.bytes);
        }
        add_duration(&table, call, ft_percentile(call->durations, 50, call->min_ns, call->max_ns));
        add_duration(&table, call, ft_percentile(call->durations, 99, call->min_ns, call->max_ns));
        add_duration(&table, call, call->max_ns);
        if (!are_spans) {
            add_count(&table, call->errors);
        }
        ft_table_add(&table, call->name);
    }
    if (shown > 0) {
        ft_screen_print(screen, FT_STYLE_TITLE, are_spans ? "\nHottest spans" : "\nHottest calls");
        fputs(" (percentiles to a factor of two)\n", screen->out);
        ft_table_print(&table, screen, 2);
    }
    ft_table_fini(&table);
}

static void print_processes(const struct ft_screen *screen, const struct ft_summary *summary)
{
    struct ft_unit_text tasks, threads, events;
    size_t task_count = summary->job.coverage.tasks, thread_count = summary->job.thread_count;
    fputc('\n', screen->out);
    print_label(screen, "Processes");
    fprintf(screen->out, "%s, %s, %s\n", ft_units_counted(&tasks, task_count, "process", "processes"),
            ft_units_counted(&threads, thread_count, "thread", "threads"),
            ft_units_counted(&events, summary->job.emitted, "event", "events"));
}

static void print_gap(const struct ft_screen *screen, const struct ft_gap_group *group)
{
    const struct ft_job_gap *gap = group->first;
    struct ft_unit_text count;
    char *exe = ft_text_escape(gap->exe.data, gap->exe.len, FT_TEXT_SHOW);
    char *reason = ft_text_escape(gap->reason.data, gap->reason.len, FT_TEXT_SHOW);
    /* A daemon's own end is of no program. */
    const char *who = *exe ? exe : gap->kind == FT_GAP_DAEMON_STOPPED && *reason ? "" : "a program";
    fprintf(screen->out, "%*s%s: %s%s%s", LABEL_WIDTH, "", ft_gap_name(gap->kind), who, *who && *reason ? ", " : "",
            reason);
    if (group->count > 1) {
        fprintf(screen->out, " (%s times)", ft_units_count(&count, group->count));
    }
    fputc('\n', screen->out);
    free(exe);
    free(reason);
}

/* A program that was run a thousand times does not hide the others. */
static void print_gaps(const struct ft_screen *screen, const struct ft_job *job)
{
    size_t count;
    struct ft_gap_group *groups = ft_job_group_gaps(job, &count);
    for (size_t i = 0; i < count && i < GAPS_MAX; i++) {
        print_gap(screen, &groups[i]);
    }
    if (count > GAPS_MAX) {
        fprintf(screen->out, "%*s... (`flowtap processes` shows all)\n", LABEL_WIDTH, "");
    }
    free(groups);
}

static void print_unseen(const struct ft_screen *screen, const struct ft_summary *summary)
{
    const struct ft_job *job = &summary->job;
    struct ft_unit_text number;
    enum ft_style style =
        job->dropped || job->missing || job->gap_count || summary->state.is_partial ? FT_STYLE_WARN : FT_STYLE_NONE;
    print_label(screen, "Not seen");
    ft_screen_print(screen, style, "%s dropped", ft_units_counted(&number, job->dropped, "event", "events"));
    for (unsigned cause = 0; cause < FT_CAUSE_COUNT; cause++) {
        if (job->dropped_by_cause[cause]) {
            ft_screen_print(screen, style, ", %s %s", ft_cause_name(cause),
                            ft_units_count(&number, job->dropped_by_cause[cause]));
        }
    }
    if (job->missing && !summary->is_quick) {
        ft_screen_print(screen, style, "; %s missing", ft_units_counted(&number, job->missing, "event", "events"));
    }
    ft_screen_print(screen, style, "; %s", ft_units_counted(&number, job->gap_count, "gap", "gaps"));
    bool is_limited = ft_trace_set_is_limited(summary->set);
    ft_screen_print(screen, style, "%s\n",
                    is_limited                  ? "; what did not fit in the reader's memory limit is left out"
                    : summary->state.is_partial ? "; the trace is partial"
                                                : "");
    if (summary->state.unclosed) {
        fprintf(screen->out, "%*s", LABEL_WIDTH, "");
        ft_report_print_unclosed(screen, summary->state.unclosed);
    }
    print_gaps(screen, job);
    if (job->coverage.known_tasks > 0 && !summary->is_quick) {
        struct ft_unit_text traced, kernel;
        print_label(screen, "Coverage");
        fprintf(screen->out, "%s traced where the kernel counted %s\n",
                ft_units_bytes(&traced, job->coverage.traced_bytes),
                ft_units_bytes(&kernel, job->coverage.kernel_bytes));
    }
}

void ft_summary_print_text(const struct ft_summary *summary, FILE *out, const struct ft_summary_look *look)
{
    struct ft_screen screen;
    ft_screen_init(&screen, out);
    ft_screen_print(&screen, FT_STYLE_TITLE, "flowtap: %s\n\n", look->title);
    if (summary->job.emitted == 0 && summary->job.stored == 0) {
        char *why = look->why_empty ? ft_cli_strdup(look->why_empty) : ft_report_why_empty(summary->set);
        ft_screen_print_names(&screen, FT_STYLE_WARN, "0 events, because %s (`%s` says more)", why,
                              look->doctor ? look->doctor : "flowtap doctor --trace PATH");
        fputs("\n\n", out);
        free(why);
    }
    print_chosen(&screen, summary);
    print_wall(&screen, summary);
    if (ft_summary_can_choose(summary)) {
        print_sums(&screen, &summary->calls);
    }
    ft_summary_print_access(&screen, summary);
    if (ft_summary_knows_times(summary)) {
        print_app(&screen, &summary->scan.sweep, ft_summary_knows_io_times(summary));
        ft_summary_print_wait(&screen, summary, LABEL_WIDTH);
    }
    if (summary->groups) {
        ft_summary_print_groups(&screen, summary->groups);
    }
    print_files(&screen, summary, look->top);
    print_calls(&screen, &summary->calls, false, look->top);
    print_calls(&screen, &summary->calls, true, look->top);
    ft_summary_print_categories(&screen, summary);
    ft_summary_print_stragglers(&screen, summary, look->top);
    if (summary->where) {
        ft_report_print_left_out(&screen, summary->job.profiled, ft_report_dropped(summary->set));
    }
    print_processes(&screen, summary);
    print_profiled(&screen, summary);
    print_unseen(&screen, summary);
}
