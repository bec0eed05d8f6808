// SPDX-License-Identifier: MIT
/* flowtap files: what was done to each file. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_scan.h"
#include "client/cli/cli.h"
#include "client/cli/report.h"
#include "client/cli/table.h"
#include "client/cli/units.h"

enum { TEXT_ROWS = 40 };

struct values {
    bool as_json;
    uint64_t top; /* UINT64_MAX: not given */
    const char *sort;
};

static const struct values defaults = {.top = UINT64_MAX, .sort = "time"};

#define SORTS "time|read|written|calls|opens|processes|path"

static const struct ft_option options[] = {
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document", offsetof(struct values, as_json), NULL},
    {FT_OPTION_COUNT, 'n', "top", "N", "only the first N; 0: all (default: 40, with --json all)",
     offsetof(struct values, top), NULL},
    {FT_OPTION_CHOICE, 's', "sort", "KEY", "largest first by one of " SORTS, offsetof(struct values, sort), SORTS},
};

struct report {
    const struct ft_trace_set *set;
    struct ft_scan scan;
    uint32_t *order;
    size_t count;
};

static struct {
    const struct report *report;
    char sort;
} compared;

static uint64_t key_of(const struct ft_file_sum *sum)
{
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

static int compare_paths(uint32_t a, uint32_t b)
{
    struct ft_bytes x = compared.report->scan.entries.items[a].path;
    struct ft_bytes y = compared.report->scan.entries.items[b].path;
    size_t shorter = x.len < y.len ? x.len : y.len;
    int order = shorter ? memcmp(x.data, y.data, shorter) : 0;
    return order ? order : (x.len > y.len) - (x.len < y.len);
}

static int compare(const void *a_untyped, const void *b_untyped)
{
    uint32_t a = *(const uint32_t *)a_untyped, b = *(const uint32_t *)b_untyped;
    if (compared.sort != '/') {
        uint64_t x = key_of(&compared.report->scan.files[a]), y = key_of(&compared.report->scan.files[b]);
        if (x != y) {
            return x < y ? 1 : -1;
        }
    }
    int order = compare_paths(a, b);
    return order ? order : (a > b) - (a < b);
}

static void sort_files(struct report *report, const char *sort)
{
    report->order = ft_cli_alloc(report->scan.file_count * sizeof(*report->order));
    for (uint32_t f = 0; f < report->scan.file_count; f++) {
        if (report->scan.files[f].events > 0) {
            report->order[report->count++] = f;
        }
    }
    compared.report = report;
    compared.sort = strcmp(sort, "path") == 0 ? '/' : sort[0];
    if (report->count > 1) {
        qsort(report->order, report->count, sizeof(*report->order), compare);
    }
}

static void put_time(struct ft_json *json, const char *key, uint64_t ns)
{
    ft_json_member_seconds(json, key, ns > INT64_MAX ? INT64_MAX : (int64_t)ns);
}

static void put_place(struct ft_json *json, const struct ft_trace_set *set, const struct ft_entry *file)
{
    const struct ft_trace_reader *reader = ft_trace_set_reader(set, file->reader);
    ft_report_json_bytes(json, "host", ft_trace_set_host_name(set, file->host));
    if (!file->record) {
        return;
    }
    ft_report_json_bytes(json, "mount", ft_trace_reader_name(reader, file->record->mount));
    ft_report_json_bytes(json, "fstype", ft_trace_reader_name(reader, file->record->fstype));
    if (file->record->dev || file->record->inode) {
        ft_json_member_uint(json, "dev", file->record->dev);
        ft_json_member_uint(json, "inode", file->record->inode);
    }
    ft_json_member_string(json, "path_source", ft_path_source_name(file->record->source));
    if (file->record->is_cut) {
        ft_json_member_bool(json, "path_cut", true);
    }
}

static void put_file(struct ft_json *json, const struct report *report, uint32_t f)
{
    const struct ft_entry *file = &report->scan.entries.items[f];
    const struct ft_file_sum *sum = &report->scan.files[f];
    ft_json_begin_object(json);
    ft_report_json_bytes(json, "path", file->path);
    ft_json_member_string(json, "kind", ft_file_kind_name(file->record ? file->record->kind : 0));
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
    ft_json_member_uint(json, "processes", sum->processes);
    put_place(json, report->set, file);
    ft_json_end_object(json);
}

static void print_json(const struct report *report, size_t rows, bool is_partial)
{
    struct ft_json json;
    ft_json_init(&json, stdout, true);
    ft_json_begin_object(&json);
    ft_json_key(&json, "files");
    ft_json_begin_array(&json);
    for (size_t i = 0; i < rows; i++) {
        put_file(&json, report, report->order[i]);
    }
    ft_json_end_array(&json);
    ft_json_member_bool(&json, "partial", is_partial);
    ft_json_end_object(&json);
    ft_json_end_line(&json);
    ft_json_flush(&json);
}

static void add_row(struct ft_table *table, const struct report *report, uint32_t f)
{
    const struct ft_file_sum *sum = &report->scan.files[f];
    const struct ft_entry *file = &report->scan.entries.items[f];
    uint64_t time_ns = sum->read_time_ns + sum->write_time_ns + sum->metadata_time_ns;
    const uint64_t counts[] = {sum->reads, sum->writes, sum->metadata, sum->opens, sum->processes};
    struct ft_unit_text text;
    ft_table_add(table, ft_units_time(&text, time_ns > INT64_MAX ? INT64_MAX : (int64_t)time_ns));
    ft_table_add(table, sum->read_bytes ? ft_units_bytes(&text, sum->read_bytes) : "-");
    ft_table_add(table, sum->written_bytes ? ft_units_bytes(&text, sum->written_bytes) : "-");
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        ft_table_add(table, counts[i] ? ft_units_count(&text, counts[i]) : "-");
    }
    ft_table_add(table, ft_file_kind_name(file->record ? file->record->kind : 0));
    ft_table_add_bytes(table, file->path.len ? file->path.data : "(no name)", file->path.len ? file->path.len : 9);
}

static void print_text(const struct report *report, size_t rows)
{
    static const struct ft_column columns[] = {
        {"TIME", true, false},   {"READ", true, false},     {"WRITTEN", true, false}, {"READS", true, false},
        {"WRITES", true, false}, {"METADATA", true, false}, {"OPENS", true, false},   {"PROCESSES", true, false},
        {"KIND", false, false},  {"PATH", false, true}};
    struct ft_screen screen;
    struct ft_table table;
    struct ft_unit_text number;
    ft_screen_init(&screen, stdout);
    if (report->count == 0) {
        ft_report_print_empty(report->set, stdout);
        return;
    }
    ft_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < rows; i++) {
        add_row(&table, report, report->order[i]);
    }
    ft_table_print(&table, &screen, 0);
    ft_table_fini(&table);
    if (rows < report->count) {
        printf("... and %s more (--top 0 shows all)\n", ft_units_count(&number, report->count - rows));
    }
}

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    const struct values *values = values_untyped;
    struct report report = {0};
    struct ft_trace_set *set;
    struct ft_progress progress;
    if (ft_report_open(operands, &set) != FT_STATUS_DONE) {
        return FT_STATUS_FAILED;
    }
    report.set = set;
    ft_progress_begin(&progress, "reading events", ft_trace_set_events(set));
    ft_scan_read(&report.scan, set, FT_SCAN_FILES, &progress);
    ft_progress_end(&progress);
    sort_files(&report, values->sort);
    size_t limit = values->top == UINT64_MAX ? (values->as_json ? 0 : TEXT_ROWS) : values->top;
    size_t rows = limit && limit < report.count ? limit : report.count;
    if (values->as_json) {
        print_json(&report, rows, ft_trace_set_is_partial(set) || report.scan.bad_blocks);
    } else {
        print_text(&report, rows);
    }
    free(report.order);
    ft_scan_fini(&report.scan);
    ft_trace_set_close(set);
    return ft_cli_finish_output(FT_STATUS_DONE);
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
