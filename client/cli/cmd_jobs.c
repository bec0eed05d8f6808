// SPDX-License-Identifier: MIT
/* flowtap jobs: which jobs the daemon serves and has traces of. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/cli.h"
#include "client/cli/daemon_jobs.h"
#include "client/cli/daemon_report.h"
#include "client/cli/json.h"
#include "client/cli/table.h"
#include "client/cli/units.h"

struct values {
    bool as_json;
    const char *socket;
};

static const struct ft_option options[] = {
    FT_OPTION_JSON(struct values, as_json),
    FT_OPTION_SOCKET(struct values, socket),
};

/* Those that run first, then the last written. */
static int in_order(const void *a, const void *b)
{
    const Flowtap__Jobs__Job *x = *(Flowtap__Jobs__Job *const *)a, *y = *(Flowtap__Jobs__Job *const *)b;
    if (x->is_running != y->is_running) {
        return x->is_running ? -1 : 1;
    }
    return (x->written_ns < y->written_ns) - (x->written_ns > y->written_ns);
}

static void add_time(struct ft_table *table, int64_t time_ns)
{
    char text[64] = "-";
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm parts;
    if (time_ns > 0 && localtime_r(&seconds, &parts)) {
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
    }
    ft_table_add(table, text);
}

static void print_text(const ProtobufCMessage *reply, const char *socket)
{
    const Flowtap__Jobs *jobs = (const void *)reply;
    (void)socket;
    static const struct ft_column columns[] = {
        {"JOB", false, false},  {"USER", false, false}, {"STATE", false, false},   {"EVENTS", true, false},
        {"BYTES", true, false}, {"FILES", true, false}, {"STARTED", false, false}, {"LAST WRITTEN", false, false}};
    struct ft_screen screen;
    struct ft_table table;
    struct ft_unit_text text;
    ft_screen_init(&screen, stdout);
    if (!jobs->n_jobs) {
        fprintf(screen.out, "There are no jobs here, or none of yours.\n");
        return;
    }
    ft_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < jobs->n_jobs; i++) {
        const Flowtap__Jobs__Job *job = jobs->jobs[i];
        char *user = ft_ask_user_name(job->uid);
        ft_table_add_bytes(&table, (const char *)job->job.data, job->job.len);
        ft_table_add(&table, user);
        ft_table_add(&table, ft_ask_job_state(job));
        ft_table_add(&table, ft_units_count(&text, job->events));
        ft_table_add(&table, ft_units_bytes(&text, job->bytes));
        ft_table_add(&table, ft_units_count(&text, job->files));
        add_time(&table, job->start_ns);
        add_time(&table, job->written_ns);
        free(user);
    }
    ft_table_print(&table, &screen, 0);
    ft_table_fini(&table);
}

static void put_when(struct ft_json *json, const char *key, int64_t time_ns)
{
    ft_json_key(json, key);
    if (time_ns > 0) {
        ft_json_seconds(json, time_ns);
    } else {
        ft_json_null(json);
    }
}

static void put_job(struct ft_json *json, const Flowtap__Jobs__Job *job)
{
    char *user = ft_ask_user_name(job->uid);
    ft_json_begin_object(json);
    ft_json_member_text(json, "job", (const char *)job->job.data, job->job.len);
    ft_json_member_string(json, "user", user);
    ft_json_member_uint(json, "uid", job->uid);
    ft_json_member_string(json, "state", ft_ask_job_state(job));
    ft_json_member_uint(json, "events", job->events);
    ft_json_member_uint(json, "bytes", job->bytes);
    ft_json_member_uint(json, "files", job->files);
    put_when(json, "start", job->start_ns);
    put_when(json, "last_written", job->written_ns);
    ft_json_end_object(json);
    free(user);
}

static void print_json(const ProtobufCMessage *reply, const char *socket)
{
    const Flowtap__Jobs *jobs = (const void *)reply;
    (void)socket;
    struct ft_json json;
    ft_json_init(&json, stdout, true);
    ft_json_begin_object(&json);
    ft_json_member_text(&json, "host", (const char *)jobs->host.data, jobs->host.len);
    ft_json_key(&json, "jobs");
    ft_json_begin_array(&json);
    for (size_t i = 0; i < jobs->n_jobs; i++) {
        put_job(&json, jobs->jobs[i]);
    }
    ft_json_end_array(&json);
    ft_json_end_object(&json);
    ft_json_end_line(&json);
    ft_json_flush(&json);
}

static int ask(const char *socket, ProtobufCMessage **reply)
{
    Flowtap__Jobs *jobs = NULL;
    int error = ft_ask_jobs(socket, &jobs);
    if (error == 0 && jobs->n_jobs) {
        qsort(jobs->jobs, jobs->n_jobs, sizeof(jobs->jobs[0]), in_order);
    }
    *reply = jobs ? &jobs->base : NULL;
    return error;
}

static int run(const void *given, const struct ft_strings *operands)
{
    static const struct ft_daemon_report report = {.ask = ask, .print_text = print_text, .print_json = print_json};
    const struct values *values = given;
    (void)operands;
    return ft_daemon_report(&report, values->socket, values->as_json);
}

const struct ft_command ft_command_jobs = {
    .name = "jobs",
    .arguments = "",
    .summary = "the jobs that the daemon serves or has traces of",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .values_bytes = sizeof(struct values),
    .run = run,
};
