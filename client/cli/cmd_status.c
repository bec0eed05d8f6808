// SPDX-License-Identifier: MIT
/* flowtap status: what the daemon does now. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/daemon_ask.h"
#include "client/cli/daemon_report.h"
#include "client/cli/json.h"
#include "client/cli/status_config.h"
#include "client/cli/table.h"
#include "client/cli/text.h"
#include "client/cli/units.h"

struct values {
    bool as_json, config;
    const char *socket;
};

static const struct ft_option options[] = {
    FT_OPTION_JSON(struct values, as_json),
    {FT_OPTION_FLAG, 0, "config", NULL, "each key of the configuration, its value in force, and where that comes from",
     offsetof(struct values, config), NULL},
    FT_OPTION_SOCKET(struct values, socket),
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static const char *value_text(struct ft_unit_text *text, const Flowtap__Status__Number *number)
{
    if (ends_with(number->name, "bytes")) {
        return ft_units_bytes(text, number->value);
    }
    if (ends_with(number->name, "_ns")) {
        return ft_units_time(text, (int64_t)(number->value & INT64_MAX));
    }
    return ft_units_count(text, number->value);
}

static void print_numbers(const struct ft_screen *screen, const char *title, Flowtap__Status__Number *const *numbers,
                          size_t count)
{
    static const struct ft_column columns[] = {{"VALUE", true, false}, {"NAME", false, false}, {"WHAT", false, false}};
    struct ft_table table;
    struct ft_unit_text text;
    ft_screen_print(screen, FT_STYLE_TITLE, "\n%s\n", title);
    ft_table_init(&table, columns, 3);
    for (size_t i = 0; i < count; i++) {
        ft_table_add(&table, value_text(&text, numbers[i]));
        ft_table_add(&table, numbers[i]->name);
        ft_table_add(&table, numbers[i]->help);
    }
    ft_table_print(&table, screen, 2);
    ft_table_fini(&table);
}

static void print_users(const struct ft_screen *screen, const Flowtap__Status *status)
{
    static const struct ft_column columns[] = {
        {"USER", false, false}, {"PROCESSES", true, false}, {"MEMORY", true, false}};
    struct ft_table table;
    struct ft_unit_text text;
    if (status->n_users == 0) {
        return;
    }
    ft_screen_print(screen, FT_STYLE_TITLE, "\nUsers\n");
    ft_table_init(&table, columns, 3);
    for (size_t i = 0; i < status->n_users; i++) {
        const Flowtap__Status__User *user = status->users[i];
        const struct passwd *entry = getpwuid(user->uid);
        char *name = entry ? ft_cli_strdup(entry->pw_name) : ft_cli_format("%u", user->uid);
        ft_table_add(&table, name);
        ft_table_add(&table, ft_units_count(&text, user->processes));
        ft_table_add(&table, ft_units_bytes(&text, user->memory_bytes));
        free(name);
    }
    ft_table_print(&table, screen, 2);
    ft_table_fini(&table);
}

static void print_text(const ProtobufCMessage *reply, const char *socket)
{
    const Flowtap__Status *status = (const void *)reply;
    struct ft_screen screen;
    struct ft_unit_text uptime;
    ft_screen_init(&screen, stdout);
    ft_screen_print(&screen, FT_STYLE_TITLE, "flowtapd %s, process %u, mode %s, up %s\n", status->version, status->pid,
                    status->mode, ft_units_time(&uptime, (int64_t)(status->uptime_ns & INT64_MAX)));
    char *spool = ft_text_escape((const char *)status->spool_dir.data, status->spool_dir.len, FT_TEXT_SHOW);
    ft_screen_print_names(&screen, FT_STYLE_NONE, "  socket  %s", socket);
    fprintf(screen.out, "\n  spool   %s\n", spool);
    free(spool);
    for (size_t i = 0; i < status->n_troubles; i++) {
        ft_screen_print_names(&screen, FT_STYLE_WARN, "  trouble %s", status->troubles[i]);
        fputc('\n', screen.out);
    }
    print_numbers(&screen, "Now", status->gauges, status->n_gauges);
    print_numbers(&screen, "Since it began", status->counters, status->n_counters);
    print_users(&screen, status);
}

static void put_numbers(struct ft_json *json, const char *key, Flowtap__Status__Number *const *numbers, size_t count)
{
    ft_json_key(json, key);
    ft_json_begin_object(json);
    for (size_t i = 0; i < count; i++) {
        ft_json_key_bytes(json, numbers[i]->name, strlen(numbers[i]->name));
        ft_json_uint(json, numbers[i]->value);
    }
    ft_json_end_object(json);
}

static void put_users(struct ft_json *json, const Flowtap__Status *status)
{
    ft_json_key(json, "users");
    ft_json_begin_array(json);
    for (size_t i = 0; i < status->n_users; i++) {
        ft_json_begin_object(json);
        ft_json_member_uint(json, "uid", status->users[i]->uid);
        ft_json_member_uint(json, "processes", status->users[i]->processes);
        ft_json_member_uint(json, "memory_bytes", status->users[i]->memory_bytes);
        ft_json_end_object(json);
    }
    ft_json_end_array(json);
}

static void print_json(const ProtobufCMessage *reply, const char *socket)
{
    const Flowtap__Status *status = (const void *)reply;
    struct ft_json json;
    ft_json_init(&json, stdout, true);
    ft_json_begin_object(&json);
    ft_json_member_text(&json, "version", status->version, strlen(status->version));
    ft_json_member_text(&json, "host", (const char *)status->host.data, status->host.len);
    ft_json_member_uint(&json, "pid", status->pid);
    ft_json_member_seconds(&json, "uptime", (int64_t)(status->uptime_ns & INT64_MAX));
    ft_json_member_text(&json, "mode", status->mode, strlen(status->mode));
    ft_json_member_text(&json, "socket", socket, strlen(socket));
    ft_json_member_text(&json, "spool_dir", (const char *)status->spool_dir.data, status->spool_dir.len);
    ft_json_key(&json, "troubles");
    ft_json_begin_array(&json);
    for (size_t i = 0; i < status->n_troubles; i++) {
        ft_json_text(&json, status->troubles[i], strlen(status->troubles[i]));
    }
    ft_json_end_array(&json);
    put_numbers(&json, "gauges", status->gauges, status->n_gauges);
    put_numbers(&json, "counters", status->counters, status->n_counters);
    put_users(&json, status);
    ft_json_end_object(&json);
    ft_json_end_line(&json);
    ft_json_flush(&json);
}

static int ask(const char *socket, ProtobufCMessage **reply)
{
    Flowtap__Status *status = NULL;
    int error = ft_ask_status(socket, &status);
    *reply = status ? &status->base : NULL;
    return error;
}

static int run(const void *given, const struct ft_strings *operands)
{
    static const struct ft_daemon_report report = {.ask = ask, .print_text = print_text, .print_json = print_json};
    const struct values *values = given;
    (void)operands;
    return ft_daemon_report(values->config ? &ft_status_config : &report, values->socket, values->as_json);
}

const struct ft_command ft_command_status = {
    .name = "status",
    .arguments = "",
    .summary = "what the daemon does now, and what is wrong with it",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .values_bytes = sizeof(struct values),
    .run = run,
};
