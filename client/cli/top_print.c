// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/cli.h"
#include "client/cli/daemon_jobs.h"
#include "client/cli/json.h"
#include "client/cli/top.h"
#include "client/cli/units.h"

/* A call that is over in less is no hanging; a table has room for the job where the screen is so wide. */
#define SHOWN_CALL_NS 100000000u
enum { WIDE = 110, COLUMNS_MAX = 8 };

static void add_rate(struct ft_table *table, double bytes)
{
    struct ft_unit_text text;
    ft_table_add(table, bytes > 0 ? ft_units_rate(&text, (uint64_t)(bytes + 0.5), 1000000000) : "-");
}

static void add_count(struct ft_table *table, uint64_t count)
{
    struct ft_unit_text text;
    ft_table_add(table, count ? ft_units_count(&text, count) : "-");
}

static void add_user(struct ft_table *table, uint32_t uid)
{
    char *name = ft_ask_user_name(uid);
    ft_table_add(table, name);
    free(name);
}

static void add_bytes(struct ft_table *table, ProtobufCBinaryData bytes)
{
    ft_table_add_bytes(table, bytes.len ? (const char *)bytes.data : "-", bytes.len ? bytes.len : 1);
}

/* "python3.11 in pread64 of /data/x for 12 s". */
static void add_program(struct ft_table *table, const Flowtap__Top__Row *row)
{
    struct ft_unit_text time;
    const char *exe = (const char *)row->name.data;
    const char *slash = row->name.len ? memrchr(exe, '/', row->name.len) : NULL;
    int length = (int)row->name.len - (slash ? (int)(slash + 1 - exe) : 0);
    char *program = ft_cli_format("%.*s", length, slash ? slash + 1 : row->name.len ? exe : "");
    if (!row->call.len || row->call_ns < SHOWN_CALL_NS) {
        ft_table_add(table, *program ? program : "-");
    } else {
        char *text = ft_cli_format("%s in %.*s%s%.*s for %s", program, (int)row->call.len, (const char *)row->call.data,
                                   row->call_path.len ? " of " : "", (int)row->call_path.len,
                                   row->call_path.len ? (const char *)row->call_path.data : "",
                                   ft_units_time(&time, row->call_ns > INT64_MAX ? INT64_MAX : (int64_t)row->call_ns));
        ft_table_add(table, text);
        free(text);
    }
    free(program);
}

static size_t make_columns(struct ft_column *columns, enum ft_top_view view, bool is_wide)
{
    size_t count = 0;
    if (view == FT_TOP_PROCESSES) {
        columns[count++] = (struct ft_column){"PID", true, false};
    }
    columns[count++] = (struct ft_column){"USER", false, false};
    if (view == FT_TOP_JOBS) {
        columns[count++] = (struct ft_column){"PROCESSES", true, false};
    }
    columns[count++] = (struct ft_column){"READ", true, false};
    columns[count++] = (struct ft_column){"WRITTEN", true, false};
    columns[count++] = (struct ft_column){"CALLS/S", true, false};
    if (view != FT_TOP_FILES) {
        columns[count++] = (struct ft_column){"DROPPED", true, false};
    }
    if (view != FT_TOP_JOBS && is_wide) {
        columns[count++] = (struct ft_column){"JOB", false, false};
    }
    static const char *const last[FT_TOP_VIEWS] = {"JOB", "PROGRAM", "FILE"};
    columns[count++] = (struct ft_column){last[view], false, view == FT_TOP_FILES};
    return count;
}

static void add_row(struct ft_table *table, const struct ft_top_row *of, enum ft_top_view view, bool is_wide)
{
    const Flowtap__Top__Row *row = of->row;
    char pid[16];
    if (view == FT_TOP_PROCESSES) {
        snprintf(pid, sizeof(pid), "%u", row->pid);
        ft_table_add(table, pid);
    }
    add_user(table, row->uid);
    if (view == FT_TOP_JOBS) {
        add_count(table, row->processes);
    }
    add_rate(table, of->read);
    add_rate(table, of->written);
    add_count(table, (uint64_t)(of->ops + 0.5));
    if (view != FT_TOP_FILES) {
        add_count(table, row->dropped);
    }
    if (view != FT_TOP_JOBS && is_wide) {
        add_bytes(table, row->job);
    }
    if (view == FT_TOP_PROCESSES) {
        add_program(table, row);
    } else {
        add_bytes(table, view == FT_TOP_FILES ? row->name : row->job);
    }
}

void ft_top_print_text(const struct ft_top *top, enum ft_top_view view, enum ft_top_key key, size_t most,
                       const struct ft_screen *screen)
{
    struct ft_column columns[COLUMNS_MAX];
    struct ft_table table;
    struct ft_unit_text text;
    bool is_wide = screen->columns == 0 || screen->columns >= WIDE;
    size_t count;
    const struct ft_top_row **order = ft_top_order(top, view, key, &count);
    ft_table_init(&table, columns, make_columns(columns, view, is_wide));
    for (size_t i = 0; i < count && (most == 0 || i < most); i++) {
        add_row(&table, order[i], view, is_wide);
    }
    ft_table_print(&table, screen, 0);
    if (top->answer->processes_left_out) {
        fprintf(screen->out, "%s processes more\n", ft_units_count(&text, top->answer->processes_left_out));
    }
    if (top->answer->calls_left_out) {
        fprintf(screen->out, "and files on which there were %s calls\n",
                ft_units_count(&text, top->answer->calls_left_out));
    }
    ft_table_fini(&table);
    free(order);
}

static void put_bytes(struct ft_json *json, const char *key, ProtobufCBinaryData bytes)
{
    if (bytes.len) {
        ft_json_member_text(json, key, (const char *)bytes.data, bytes.len);
    } else {
        ft_json_key(json, key);
        ft_json_null(json);
    }
}

static void put_call(struct ft_json *json, const Flowtap__Top__Row *row)
{
    ft_json_key(json, "in_call");
    if (!row->call.len) {
        ft_json_null(json);
        return;
    }
    ft_json_begin_object(json);
    put_bytes(json, "name", row->call);
    put_bytes(json, "path", row->call_path);
    ft_json_member_seconds(json, "time", row->call_ns > INT64_MAX ? INT64_MAX : (int64_t)row->call_ns);
    ft_json_end_object(json);
}

static void put_row(struct ft_json *json, const struct ft_top_row *of, enum ft_top_view view)
{
    const Flowtap__Top__Row *row = of->row;
    char *user = ft_ask_user_name(row->uid);
    ft_json_begin_object(json);
    put_bytes(json, "job", row->job);
    ft_json_member_string(json, "user", user);
    ft_json_member_uint(json, "uid", row->uid);
    if (view == FT_TOP_JOBS) {
        ft_json_member_uint(json, "processes", row->processes);
    }
    if (view == FT_TOP_PROCESSES) {
        ft_json_member_uint(json, "pid", row->pid);
        put_bytes(json, "exe", row->name);
    }
    if (view == FT_TOP_FILES) {
        put_bytes(json, "path", row->name);
    }
    ft_json_member_double(json, "read_bandwidth", of->read);
    ft_json_member_double(json, "write_bandwidth", of->written);
    ft_json_member_double(json, "ops", of->ops);
    ft_json_member_double(json, "concurrency", of->at_once);
    if (view != FT_TOP_FILES) {
        ft_json_member_uint(json, "events", row->events);
        ft_json_member_uint(json, "dropped", row->dropped);
    }
    if (view == FT_TOP_PROCESSES) {
        put_call(json, row);
    }
    ft_json_end_object(json);
    free(user);
}

static int64_t realtime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void ft_top_print_json(const struct ft_top *top, enum ft_top_view view, enum ft_top_key key, size_t most, FILE *out)
{
    struct ft_json json;
    size_t count;
    const struct ft_top_row **order = ft_top_order(top, view, key, &count);
    ft_json_init(&json, out, false);
    ft_json_begin_object(&json);
    ft_json_member_seconds(&json, "time", realtime_ns());
    put_bytes(&json, "host", top->answer->host);
    ft_json_member_string(&json, "by", ft_top_view_name(view));
    ft_json_key(&json, "rows");
    ft_json_begin_array(&json);
    for (size_t i = 0; i < count && (most == 0 || i < most); i++) {
        put_row(&json, order[i], view);
    }
    ft_json_end_array(&json);
    ft_json_member_uint(&json, "processes_left_out", top->answer->processes_left_out);
    ft_json_member_uint(&json, "calls_left_out", top->answer->calls_left_out);
    ft_json_end_object(&json);
    ft_json_end_line(&json);
    ft_json_flush(&json);
    free(order);
}
