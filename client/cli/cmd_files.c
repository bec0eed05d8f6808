// SPDX-License-Identifier: MIT
/* flowtap files: what was done to each file, or to groups of them. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/files.h"
#include "client/cli/report.h"
#include "client/cli/table.h"
#include "client/cli/units.h"
#include "client/cli/where.h"

enum { TEXT_ROWS = 40 };

struct values {
    bool as_json;
    uint64_t top;          /* UINT64_MAX: not given */
    const char *sort, *by; /* by NULL: file by file */
    const char *where;
    bool with_stats;
};

static const struct values defaults = {.top = UINT64_MAX, .sort = "time"};

#define SORTS "time|read|written|calls|opens|processes|path"

static const struct ft_option options[] = {
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document", offsetof(struct values, as_json), NULL},
    {FT_OPTION_COUNT, 'n', "top", "N", "only the first N; 0: all (default: 40, with --json all)",
     offsetof(struct values, top), NULL},
    {FT_OPTION_CHOICE, 's', "sort", "KEY", "largest first by one of " SORTS, offsetof(struct values, sort), SORTS},
    {FT_OPTION_CHOICE, 'b', "by", "WHAT", "one row for all files of a " FT_FILES_BY, offsetof(struct values, by),
     FT_FILES_BY},
    FT_OPTION_WHERE(struct values, where),
    FT_OPTION_STATS(struct values, with_stats),
};

/* What qsort's comparison goes by. */
static struct {
    char sort;
} compared;

static uint64_t key_of(const struct ft_files_row *row)
{
    const struct ft_file_sum *sum = &row->sum;
    switch (compared.sort) {
    case 'r':
        return sum->read_bytes;
    case 'w':
        return sum->written_bytes;
    case 'c':
        return sum->events;
    case 'o':
        return sum->opens;
    case 'p':
        return sum->processes;
    default:
        return sum->read_time_ns + sum->write_time_ns + sum->metadata_time_ns;
    }
}

static int compare_names(struct ft_bytes x, struct ft_bytes y)
{
    size_t shorter = x.len < y.len ? x.len : y.len;
    int order = shorter ? memcmp(x.data, y.data, shorter) : 0;
    return order ? order : (x.len > y.len) - (x.len < y.len);
}

static int compare(const void *a_untyped, const void *b_untyped)
{
    const struct ft_files_row *a = a_untyped, *b = b_untyped;
    if (compared.sort != '/' && key_of(a) != key_of(b)) {
        return key_of(a) < key_of(b) ? 1 : -1;
    }
    int order = compare_names(a->name, b->name);
    return order ? order : (a->entry > b->entry) - (a->entry < b->entry);
}

static void sort_rows(struct ft_files *report, const char *sort)
{
    compared.sort = strcmp(sort, "path") == 0 ? '/' : sort[0];
    if (report->count > 1) {
        qsort(report->rows, report->count, sizeof(*report->rows), compare);
    }
}

static void put_time(struct ft_json *json, const char *key, uint64_t ns)
{
    ft_json_member_seconds(json, key, ns > INT64_MAX ? INT64_MAX : (int64_t)ns);
}

static void put_place(struct ft_json *json, const struct ft_entries *entries, const struct ft_entry *file)
{
    const struct ft_trace_set *set = entries->set;
    const struct ft_trace_file record = ft_entry_record(entries, file);
    const struct ft_trace_reader *reader = ft_trace_set_reader(set, file->reader);
    ft_report_json_bytes(json, "host", ft_trace_set_host_name(set, ft_trace_set_reader_host(set, file->reader)));
    ft_report_json_bytes(json, "mount", ft_trace_reader_name(reader, record.mount));
    ft_report_json_bytes(json, "fstype", ft_trace_reader_name(reader, record.fstype));
    if (record.dev || record.inode) {
        ft_json_member_uint(json, "dev", record.dev);
        ft_json_member_uint(json, "inode", record.inode);
        if (record.birth) {
            ft_json_member_uint(json, "birth", record.birth);
        }
    }
    ft_json_member_string(json, "path_source", ft_path_source_name(record.source));
    if (record.is_cut) {
        ft_json_member_bool(json, "path_cut", true);
    }
}

static void put_row(struct ft_json *json, const struct ft_files *report, const struct ft_files_row *row)
{
    const struct ft_entry *file = report->by ? NULL : &report->scan.entries.items[row->entry];
    const struct ft_file_sum *sum = &row->sum;
    ft_json_begin_object(json);
    ft_report_json_bytes(json, report->by ? report->by : "path", row->name);
    if (file) {
        ft_json_member_string(json, "kind", ft_file_kind_name(ft_entry_record(&report->scan.entries, file).kind));
    } else {
        ft_json_member_uint(json, "files", row->files);
    }
    ft_json_member_uint(json, "reads", sum->reads);
    ft_json_member_uint(json, "writes", sum->writes);
    ft_json_member_uint(json, "read_bytes", sum->read_bytes);
    ft_json_member_uint(json, "written_bytes", sum->written_bytes);
    put_time(json, "read_time", sum->read_time_ns);
    put_time(json, "write_time", sum->write_time_ns);
    put_time(json, "metadata_time", sum->metadata_time_ns);
    ft_json_member_uint(json, "metadata", sum->metadata);
    ft_json_member_uint(json, "opens", sum->opens);
    ft_json_member_uint(json, "errors", sum->errors);
    ft_json_member_uint(json, "events", sum->events);
    if (file) {
        ft_json_member_uint(json, "processes", sum->processes);
        put_place(json, &report->scan.entries, file);
    }
    ft_json_end_object(json);
}

static void print_json(const struct ft_files *report, size_t rows, struct ft_state state, uint64_t left_out)
{
    struct ft_json json;
    ft_json_init(&json, stdout, true);
    ft_json_begin_object(&json);
    ft_json_key(&json, report->by ? "groups" : "files");
    ft_json_begin_array(&json);
    for (size_t i = 0; i < rows; i++) {
        put_row(&json, report, &report->rows[i]);
    }
    ft_json_end_array(&json);
    ft_report_json_unseen(&json, state);
    ft_json_member_uint(&json, "profiled_left_out", left_out);
    ft_report_json_state(&json, state);
    ft_json_end_object(&json);
    ft_json_end_line(&json);
    ft_json_flush(&json);
}

static void add_row(struct ft_table *table, const struct ft_files *report, const struct ft_files_row *row)
{
    const struct ft_file_sum *sum = &row->sum;
    uint64_t time_ns = sum->read_time_ns + sum->write_time_ns + sum->metadata_time_ns;
    const uint64_t counts[] = {sum->reads, sum->writes, sum->metadata, sum->opens,
                               report->by ? row->files : sum->processes};
    struct ft_unit_text text;
    ft_table_add(table, ft_units_time(&text, time_ns > INT64_MAX ? INT64_MAX : (int64_t)time_ns));
    ft_table_add(table, sum->read_bytes ? ft_units_bytes(&text, sum->read_bytes) : "-");
    ft_table_add(table, sum->written_bytes ? ft_units_bytes(&text, sum->written_bytes) : "-");
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        ft_table_add(table, counts[i] ? ft_units_count(&text, counts[i]) : "-");
    }
    if (!report->by) {
        const struct ft_entry *file = &report->scan.entries.items[row->entry];
        ft_table_add(table, ft_file_kind_name(ft_entry_record(&report->scan.entries, file).kind));
        ft_report_add_host(table, report->set, file->reader);
    }
    if (row->name.len) {
        ft_table_add_bytes(table, row->name.data, row->name.len);
    } else {
        ft_table_add(table, report->by ? "(none)" : "(no name)");
    }
}

#define FIGURES                                                                                     \
    {"TIME", true, false}, {"READ", true, false}, {"WRITTEN", true, false}, {"READS", true, false}, \
        {"WRITES", true, false}, {"METADATA", true, false},                                         \
    {                                                                                               \
        "OPENS", true, false                                                                        \
    }

static void print_table(const struct ft_files *report, size_t rows, const struct ft_screen *screen)
{
    struct ft_column columns[] = {
        FIGURES, {"PROCESSES", true, false}, {"KIND", false, false}, {"HOST", false, false}, {"PATH", false, true}};
    static const struct ft_column grouped[] = {FIGURES, {"FILES", true, false}, {"GROUP", false, true}};
    struct ft_table table;
    struct ft_unit_text number;
    ft_table_init(&table, report->by ? grouped : columns,
                  report->by ? sizeof(grouped) / sizeof(grouped[0])
                             : ft_report_host_column(columns, sizeof(columns) / sizeof(columns[0]), report->set));
    for (size_t i = 0; i < rows; i++) {
        add_row(&table, report, &report->rows[i]);
    }
    ft_table_print(&table, screen, 0);
    ft_table_fini(&table);
    if (rows < report->count) {
        printf("... and %s more (--top 0 shows all)\n", ft_units_count(&number, report->count - rows));
    }
}

/* Sums are in it, but not where some of all events are chosen. */
static void print_text(const struct ft_files *report, size_t rows, struct ft_state state, uint64_t left_out,
                       const char *if_empty)
{
    struct ft_screen screen;
    ft_screen_init(&screen, stdout);
    if (report->count == 0) {
        ft_report_print_empty(report->set, if_empty, stdout);
    } else {
        print_table(report, rows, &screen);
    }
    ft_report_print_unseen(&screen, state, left_out);
}

static int report_files(const struct values *values, const struct ft_trace_set *set, const struct ft_where *where)
{
    struct ft_files report;
    ft_files_read(&report, set, where, values->by);
    sort_rows(&report, values->sort);
    size_t limit = values->top == UINT64_MAX ? (values->as_json ? 0 : TEXT_ROWS) : values->top;
    size_t rows = limit && limit < report.count ? limit : report.count;
    struct ft_state state = ft_state_of(set, report.scan.bad_blocks);
    uint64_t left_out = where ? ft_trace_set_profiled(set) : 0;
    if (values->as_json) {
        print_json(&report, rows, state, left_out);
    } else {
        print_text(&report, rows, state, left_out,
                   where ? "no event that is chosen names a file" : "no event names a file");
    }
    ft_report_warn_of_blocks(set, report.scan.bad_blocks);
    ft_files_fini(&report);
    return FT_STATUS_DONE;
}

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    const struct values *values = values_untyped;
    struct ft_report_where where;
    struct ft_trace_set *set;
    int status = ft_report_where_open(&where, values->where, operands, &set);
    if (status != FT_STATUS_DONE) {
        return status;
    }
    status = report_files(values, set, where.bound);
    ft_report_where_end(&where, set, values->with_stats);
    ft_trace_set_close(set);
    return ft_cli_finish_output(status);
}

const struct ft_command ft_command_files = {
    .name = "files",
    .summary = "what was done to each file",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    FT_COMMAND_READS_TRACES,
    .values_bytes = sizeof(struct values),
    .defaults = &defaults,
    .run = run,
};
