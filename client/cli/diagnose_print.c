// SPDX-License-Identifier: MIT
#include <string.h>

#include "client/cli/diagnose.h"
#include "client/cli/report.h"
#include "client/cli/table.h"
#include "client/cli/units.h"

static const char *severity_name(enum ft_diagnose_severity severity)
{
    static const char *const names[] = {"low", "medium", "high"};
    return names[severity];
}

static int64_t as_time(uint64_t ns)
{
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static void print_files(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding,
                        const struct ft_screen *screen)
{
    struct ft_column columns[] = {{"TIME", true, false},
                                  {"CALLS", true, false},
                                  {"BYTES", true, false},
                                  {"HOST", false, false},
                                  {"PATH", false, true}};
    struct ft_table table;
    struct ft_unit_text text;
    ft_table_init(&table, columns, ft_report_host_column(columns, sizeof(columns) / sizeof(columns[0]), diagnose->set));
    for (size_t i = 0; i < finding->file_count; i++) {
        const struct ft_diagnose_file *file = &finding->files[i];
        struct ft_bytes path = ft_entry_path(&diagnose->entries, &diagnose->entries.items[file->entry]);
        ft_table_add(&table, ft_units_time(&text, as_time(file->time_ns)));
        ft_table_add(&table, file->count ? ft_units_count(&text, file->count) : "-");
        ft_table_add(&table, ft_units_bytes(&text, file->bytes));
        ft_report_add_host(&table, diagnose->set, diagnose->entries.items[file->entry].reader);
        ft_table_add_bytes(&table, path.len ? path.data : "(no name)", path.len ? path.len : 9);
    }
    if (finding->file_count > 0) {
        ft_table_print(&table, screen, 2);
    }
    ft_table_fini(&table);
}

static void print_processes(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding,
                            const struct ft_screen *screen)
{
    static const struct ft_column columns[] = {{"TIME", true, false},  {"MEDIAN", true, false},
                                               {"READ", true, false},  {"PID", true, false},
                                               {"HOST", false, false}, {"PROGRAM", false, true}};
    struct ft_table table;
    struct ft_unit_text text;
    ft_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < finding->process_count; i++) {
        const struct ft_diagnose_process_row *row = &finding->processes[i];
        const struct ft_trace_set_process *process = ft_trace_set_process(diagnose->set, row->process);
        struct ft_bytes host =
            ft_trace_set_host_name(diagnose->set, ft_trace_set_reader_host(diagnose->set, process->reader));
        char pid[16];
        snprintf(pid, sizeof(pid), "%u", process->record->pid);
        ft_table_add(&table, ft_units_time(&text, as_time(row->time_ns)));
        ft_table_add(&table, ft_units_time(&text, as_time(row->median_ns)));
        ft_table_add(&table, row->bytes ? ft_units_bytes(&text, row->bytes) : "-");
        ft_table_add(&table, pid);
        ft_table_add_bytes(&table, host.len ? host.data : "-", host.len ? host.len : 1);
        ft_table_add_bytes(&table, process->record->exe.len ? process->record->exe.data : "-",
                           process->record->exe.len ? process->record->exe.len : 1);
    }
    if (finding->process_count > 0) {
        ft_table_print(&table, screen, 2);
    }
    ft_table_fini(&table);
}

void ft_diagnose_print_text(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *findings,
                            size_t count, const char *title, struct ft_state state, FILE *out)
{
    struct ft_screen screen;
    struct ft_unit_text saving;
    ft_screen_init(&screen, out);
    ft_screen_print(&screen, FT_STYLE_TITLE, "flowtap: %s\n", title);
    if (count == 0) {
        fprintf(out, "\nNothing stands out: %zu checks, no finding (`flowtap diagnose --checks` tells them).\n",
                ft_diagnose_check_count);
    }
    for (size_t i = 0; i < count; i++) {
        const struct ft_diagnose_finding *finding = &findings[i];
        ft_screen_print(&screen, finding->severity == FT_DIAGNOSE_HIGH ? FT_STYLE_WARN : FT_STYLE_TITLE, "\n%s",
                        finding->check->title);
        fprintf(out, " (%s)\n  %s.\n", severity_name(finding->severity), finding->figure);
        fprintf(out, "  At most %s could be saved, %s.\n", ft_units_time(&saving, as_time(finding->saving_ns)),
                finding->check->saves_wall ? "of the wall time" : "summed over all threads");
        print_files(diagnose, finding, &screen);
        print_processes(diagnose, finding, &screen);
        fprintf(out, "  What helps: %s.\n", finding->check->advice);
        ft_screen_print_names(&screen, FT_STYLE_NONE, "  Closer: %s", finding->command);
        fputc('\n', out);
    }
    fputs(state.dropped || state.gap_count || state.unclosed ? "\n" : "", out);
    ft_report_print_unseen(&screen, state, 0);
}

static void put_files(struct ft_json *json, const struct ft_diagnose *diagnose,
                      const struct ft_diagnose_finding *finding)
{
    ft_json_key(json, "files");
    ft_json_begin_array(json);
    for (size_t i = 0; i < finding->file_count; i++) {
        const struct ft_diagnose_file *file = &finding->files[i];
        const struct ft_entry *entry = &diagnose->entries.items[file->entry];
        ft_json_begin_object(json);
        ft_report_json_bytes(json, "path", ft_entry_path(&diagnose->entries, entry));
        ft_report_json_bytes(json, "host",
                             ft_trace_set_host_name(diagnose->set, ft_entry_host(&diagnose->entries, entry)));
        ft_json_key(json, "count");
        file->count ? ft_json_uint(json, file->count) : ft_json_null(json);
        ft_json_member_uint(json, "bytes", file->bytes);
        ft_json_member_seconds(json, "time", as_time(file->time_ns));
        ft_json_end_object(json);
    }
    ft_json_end_array(json);
}

static void put_processes(struct ft_json *json, const struct ft_diagnose *diagnose,
                          const struct ft_diagnose_finding *finding)
{
    ft_json_key(json, "processes");
    ft_json_begin_array(json);
    for (size_t i = 0; i < finding->process_count; i++) {
        const struct ft_diagnose_process_row *row = &finding->processes[i];
        const struct ft_trace_set_process *process = ft_trace_set_process(diagnose->set, row->process);
        uint32_t host = ft_trace_set_reader_host(diagnose->set, process->reader);
        ft_json_begin_object(json);
        ft_report_json_bytes(json, "host", ft_trace_set_host_name(diagnose->set, host));
        ft_json_member_uint(json, "pid", process->record->pid);
        ft_report_json_bytes(json, "exe", process->record->exe);
        ft_json_member_uint(json, "bytes", row->bytes);
        ft_json_member_seconds(json, "time", as_time(row->time_ns));
        ft_json_member_seconds(json, "median", as_time(row->median_ns));
        ft_json_end_object(json);
    }
    ft_json_end_array(json);
}

void ft_diagnose_print_json(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *findings,
                            size_t count, struct ft_state state, FILE *out)
{
    struct ft_json json;
    ft_json_init(&json, out, true);
    ft_json_begin_object(&json);
    ft_json_key(&json, "findings");
    ft_json_begin_array(&json);
    for (size_t i = 0; i < count; i++) {
        const struct ft_diagnose_finding *finding = &findings[i];
        ft_json_begin_object(&json);
        ft_json_member_string(&json, "check", finding->check->name);
        ft_json_member_string(&json, "severity", severity_name(finding->severity));
        ft_json_member_string(&json, "title", finding->check->title);
        ft_json_member_string(&json, "figure", finding->figure);
        ft_json_member_seconds(&json, "saving", as_time(finding->saving_ns));
        ft_json_member_string(&json, "advice", finding->check->advice);
        ft_json_member_text(&json, "command", finding->command, strlen(finding->command));
        put_files(&json, diagnose, finding);
        put_processes(&json, diagnose, finding);
        ft_json_end_object(&json);
    }
    ft_json_end_array(&json);
    ft_json_key(&json, "checks");
    ft_json_begin_array(&json);
    for (size_t i = 0; i < ft_diagnose_check_count; i++) {
        ft_json_string(&json, ft_diagnose_checks[i].name);
    }
    ft_json_end_array(&json);
    ft_report_json_unseen(&json, state);
    ft_report_json_state(&json, state);
    ft_json_end_object(&json);
    ft_json_end_line(&json);
    ft_json_flush(&json);
}
