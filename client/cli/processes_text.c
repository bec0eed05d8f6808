// SPDX-License-Identifier: MIT
/* The process tree for a person. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_parents.h"
#include "client/cli/cli.h"
#include "client/cli/processes.h"
#include "client/cli/report.h"
#include "client/cli/table.h"
#include "client/cli/text.h"
#include "client/cli/units.h"

enum { INDENT_MAX = 20, COMMAND_BYTES_MAX = 160 };

#define FIGURES                                                                                         \
    {"PID", true, false}, {"EVENTS", true, false}, {"DROPPED", true, false}, {"I/O TIME", true, false}, \
        {"READ", true, false}, {"WRITTEN", true, false}, {"LIVED", true, false},                        \
    {                                                                                                   \
        "EXIT", false, false                                                                            \
    }

static const struct ft_column columns[] = {FIGURES, {"COMMAND", false, false}};
static const struct ft_column job_columns[] = {
    FIGURES, {"JOB", false, false}, {"RANK (LOCAL)", false, false}, {"COMMAND", false, false}};
enum {
    COLUMN_COUNT = sizeof(columns) / sizeof(columns[0]),
    JOB_COLUMN_COUNT = sizeof(job_columns) / sizeof(job_columns[0])
};

/* Where a workload manager had no part, all are of one login session, which says nothing. */
static bool has_jobs(const struct ft_processes *processes)
{
    for (size_t i = 0; i < processes->count; i++) {
        const struct ft_trace_job *job = &ft_trace_set_process(processes->set, processes->order[i])->record->job;
        if (job->source == FT_JOB_SOURCE_CGROUP || job->source == FT_JOB_SOURCE_ENVIRONMENT || job->rank >= 0 ||
            job->local_rank >= 0) {
            return true;
        }
    }
    return false;
}

/* Whole characters of at most so many bytes; the text is changed. */
static void shorten(char **line)
{
    size_t bytes = COMMAND_BYTES_MAX;
    if (strlen(*line) <= bytes) {
        return;
    }
    while (bytes > 0 && ((unsigned char)(*line)[bytes] & 0xc0u) == 0x80u) {
        bytes--;
    }
    char *shorter = ft_cli_format("%.*s%s", (int)bytes, *line, ft_text_locale_is_utf8() ? "…" : "...");
    free(*line);
    *line = shorter;
}

/* argv as one line, words with spaces quoted, marked where the trace has not all of it; the program's path where there is none. */
static char *command_line(const struct ft_trace_process *record)
{
    char *line = ft_cli_strdup("");
    for (size_t i = 0; i < record->argv_count && strlen(line) < COMMAND_BYTES_MAX; i++) {
        const char *word = record->argv[i].data;
        bool is_plain = record->argv[i].len > 0 && !memchr(word, ' ', record->argv[i].len);
        char *longer = ft_cli_format("%s%s%s%.*s%s", line, i ? " " : "", is_plain ? "" : "'", (int)record->argv[i].len,
                                     word, is_plain ? "" : "'");
        free(line);
        line = longer;
    }
    if (record->argv_count == 0) {
        free(line);
        line = record->exe.len ? ft_cli_format("%.*s", (int)record->exe.len, record->exe.data)
                               : ft_cli_strdup("(unknown)");
    }
    if (record->is_argv_cut) {
        char *marked = ft_cli_format("%s %s", line, ft_text_locale_is_utf8() ? "…" : "...");
        free(line);
        line = marked;
    }
    shorten(&line);
    return line;
}

static char *indentation(uint32_t depth)
{
    char *text = ft_cli_alloc((size_t)2 * INDENT_MAX + 1);
    for (uint32_t i = 0; i < depth && i < INDENT_MAX; i++) {
        strcat(text, "  ");
    }
    return text;
}

static void exit_text(const struct ft_processes *processes, uint32_t p, char *text, size_t bytes)
{
    const struct ft_trace_process *record = ft_trace_set_process(processes->set, p)->record;
    switch (record->exit) {
    case FT_EXIT_CODE:
        snprintf(text, bytes, "%d", record->exit_value);
        break;
    case FT_EXIT_SIGNAL: {
        const char *name = sigabbrev_np(record->exit_value);
        snprintf(text, bytes, name ? "SIG%s" : "signal%s", name ? name : "");
        break;
    }
    case FT_EXIT_EXEC:
        snprintf(text, bytes, "exec");
        break;
    default:
        snprintf(text, bytes, "%s", record->end_ns ? "?" : processes->lived_on[p] ? "lived on" : "running");
    }
}

static void add_figures(struct ft_table *table, const struct ft_processes *processes, uint32_t p)
{
    const struct ft_trace_process *record = ft_trace_set_process(processes->set, p)->record;
    const struct ft_process_sum *sum = &processes->sums[p];
    struct ft_unit_text text;
    uint64_t dropped = ft_job_dropped(record), io_ns = sum->io_time_ns;
    ft_table_add(table, ft_units_count(&text, ft_processes_events(processes, p)));
    ft_table_add(table, dropped ? ft_units_count(&text, dropped) : "-");
    ft_table_add(table, io_ns ? ft_units_time(&text, io_ns > INT64_MAX ? INT64_MAX : (int64_t)io_ns) : "-");
    ft_table_add(table, sum->read_bytes ? ft_units_bytes(&text, sum->read_bytes) : "-");
    ft_table_add(table, sum->written_bytes ? ft_units_bytes(&text, sum->written_bytes) : "-");
    ft_table_add(table, record->end_ns ? ft_units_time(&text, record->end_ns - record->start_ns) : "-");
}

/* Job and step, rank and local rank, each with how it is known. */
static void add_job(struct ft_table *table, const struct ft_trace_job *job)
{
    char *text =
        ft_cli_format("%.*s%s%.*s by %s", (int)job->id.len, job->id.len ? job->id.data : "", job->step.len ? "." : "",
                      (int)job->step.len, job->step.len ? job->step.data : "", ft_job_source_name(job->source));
    ft_table_add(table, text);
    free(text);
    if (job->rank < 0 && job->local_rank < 0) {
        ft_table_add(table, "-");
        return;
    }
    char rank[16] = "-", local[16] = "-";
    if (job->rank >= 0) {
        snprintf(rank, sizeof(rank), "%d", job->rank);
    }
    if (job->local_rank >= 0) {
        snprintf(local, sizeof(local), "%d", job->local_rank);
    }
    text = ft_cli_format("%s (%s) by %s", rank, local,
                         ft_job_source_name(job->rank >= 0 ? job->rank_source : job->local_rank_source));
    ft_table_add(table, text);
    free(text);
}

/* A line below the process: what a thread was in when it was last seen. */
static void add_in_call(struct ft_table *table, const struct ft_trace_set *set,
                        const struct ft_trace_set_process *process, const struct ft_trace_in_call *in, uint32_t depth,
                        int columns_before)
{
    const struct ft_trace_reader *reader = ft_trace_set_reader(set, process->reader);
    struct ft_bytes path = ft_trace_reader_file_path(reader, in->file);
    char room[32], *indent = indentation(depth + 1);
    struct ft_unit_text how_long;
    const char *call = ft_call_name_find(reader, in->call, room, sizeof(room));
    int64_t until = process->record->end_ns;
    char *line = ft_cli_format("%sin %s%s%.*s%s%s (thread %u)", indent, call, path.len ? " of " : "", (int)path.len,
                               path.len ? path.data : "", until ? " when it ended, for " : " since it was last seen",
                               until ? ft_units_time(&how_long, until - in->since_ns) : "", in->tid);
    for (int c = 0; c < columns_before; c++) {
        ft_table_add(table, "");
    }
    ft_table_add(table, line);
    free(indent);
    free(line);
}

static void add_process(struct ft_table *table, const struct ft_processes *processes, size_t i, bool shows_jobs)
{
    uint32_t p = processes->order[i], depth = processes->depths[i];
    const struct ft_trace_set_process *process = ft_trace_set_process(processes->set, p);
    char text[64], *indent = indentation(depth), *command = command_line(process->record);
    char *line = ft_cli_format("%s%s%s", indent,
                               ft_parents_is_exec(processes->set, processes->job.parents, p) ? "-> " : "", command);
    snprintf(text, sizeof(text), "%u", process->record->pid);
    ft_table_add(table, text);
    add_figures(table, processes, p);
    exit_text(processes, p, text, sizeof(text));
    ft_table_add(table, text);
    if (shows_jobs) {
        add_job(table, &process->record->job);
    }
    ft_table_add(table, line);
    for (size_t k = 0; k < process->record->in_call_count; k++) {
        add_in_call(table, processes->set, process, &process->record->in_call[k], depth,
                    (shows_jobs ? JOB_COLUMN_COUNT : COLUMN_COUNT) - 1);
    }
    free(line);
    free(command);
    free(indent);
}

static void print_gaps(const struct ft_screen *screen, const struct ft_job *job)
{
    static const struct ft_column gap_columns[] = {{"GAP", false, false},
                                                   {"PID", true, false},
                                                   {"COUNT", true, false},
                                                   {"PROGRAM", false, false},
                                                   {"REASON", false, false}};
    struct ft_table table;
    struct ft_unit_text count;
    char pid[16];
    if (job->gap_count == 0) {
        return;
    }
    ft_screen_print(screen, FT_STYLE_TITLE, "\nNot seen\n");
    ft_table_init(&table, gap_columns, sizeof(gap_columns) / sizeof(gap_columns[0]));
    for (size_t i = 0; i < job->gap_count; i++) {
        const struct ft_job_gap *gap = &job->gaps[i];
        snprintf(pid, sizeof(pid), "%u", gap->pid);
        ft_table_add(&table, ft_gap_name(gap->kind));
        ft_table_add(&table, gap->pid ? pid : "-");
        ft_table_add(&table, ft_units_count(&count, gap->count));
        ft_table_add_bytes(&table, gap->exe.len ? gap->exe.data : "-", gap->exe.len ? gap->exe.len : 1);
        ft_table_add_bytes(&table, gap->reason.len ? gap->reason.data : "-", gap->reason.len ? gap->reason.len : 1);
    }
    ft_table_print(&table, screen, 0);
    ft_table_fini(&table);
}

static void print_unseen(const struct ft_screen *screen, const struct ft_processes *processes)
{
    const struct ft_state *state = &processes->state;
    const struct ft_job *job = &processes->job;
    struct ft_unit_text count;
    print_gaps(screen, job);
    fputc('\n', screen->out);
    if (job->profiled) {
        ft_screen_print(screen, processes->is_chosen ? FT_STYLE_WARN : FT_STYLE_NONE,
                        processes->is_chosen ? "%s there as sums alone, and not in it.\n"
                                             : "%s there as sums alone: what was moved is counted, not when.\n",
                        ft_units_counted(&count, job->profiled, "event is", "events are"));
    }
    if (!job->gap_count && !job->dropped && !job->missing && !state->unclosed && !state->is_partial) {
        if (!job->profiled || !processes->is_chosen) {
            fprintf(screen->out, "Nothing is known to have gone unseen.\n");
        }
        return;
    }
    if (state->dropped) {
        ft_screen_print(screen, FT_STYLE_WARN, "%s events were dropped: they are counted, what they moved is not.\n",
                        ft_units_count(&count, state->dropped));
    }
    if (job->missing) {
        ft_screen_print(screen, FT_STYLE_WARN,
                        "%s missing: in what is damaged, or in files of the trace that are not here.\n",
                        ft_units_counted(&count, job->missing, "event is", "events are"));
    }
    ft_report_print_unclosed(screen, state->unclosed);
    if (state->is_partial) {
        ft_screen_print(screen, FT_STYLE_WARN, "The trace is partial: processes or events may be missing.\n");
    }
}

void ft_processes_print_text(const struct ft_processes *processes, FILE *out)
{
    struct ft_screen screen;
    struct ft_table table;
    ft_screen_init(&screen, out);
    if (processes->count == 0) {
        ft_report_print_empty(processes->set, "no process has such events", out);
    } else if (processes->by) {
        ft_processes_print_groups(processes, &screen);
    } else {
        bool shows_jobs = has_jobs(processes);
        ft_table_init(&table, shows_jobs ? job_columns : columns, shows_jobs ? JOB_COLUMN_COUNT : COLUMN_COUNT);
        for (size_t i = 0; i < processes->shown; i++) {
            add_process(&table, processes, i, shows_jobs);
        }
        ft_table_print(&table, &screen, 0);
        ft_table_fini(&table);
        if (processes->shown < processes->count) {
            struct ft_unit_text more;
            fprintf(out, "... and %s more (--top 0 shows all)\n",
                    ft_units_count(&more, processes->count - processes->shown));
        }
    }
    print_unseen(&screen, processes);
}
