// SPDX-License-Identifier: MIT
//
// What is wrong with a configuration beyond single values, and how it is told.
#include <grp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/config.h"
#include "daemon/mode.h"
#include "daemon/user_modes.h"

void ft_config_tell(struct ft_config_report *report, bool is_error, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (is_error)
        report->errors++;
    else
        report->odd++;
    if (!report->tell)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    report->tell(is_error, text);
}

// A key that is to be no more than another, and what happens where it is.
struct order {
    enum ft_config_id smaller, larger;
    const char *what;
    bool has_none; // 0 is no limit
};

static const struct order orders[] = {
    {FT_CONFIG_max_processes_per_user, FT_CONFIG_max_processes, "the latter holds for each user, too", false},
    {FT_CONFIG_max_connections_per_user, FT_CONFIG_max_connections, "the latter holds for each user, too", false},
    {FT_CONFIG_max_questions_per_user, FT_CONFIG_max_questions, "the latter holds for each user, too", false},
    {FT_CONFIG_max_jobs_per_user, FT_CONFIG_max_jobs, "the latter holds for each user, too", false},
    {FT_CONFIG_max_user_memory, FT_CONFIG_max_memory, "the latter holds for each user, too", false},
    {FT_CONFIG_max_user_jobs_memory, FT_CONFIG_max_jobs_memory, "the latter holds for each user, too", false},
    {FT_CONFIG_retain_user_size, FT_CONFIG_retain_size, "the latter holds for each user, too", true},
    {FT_CONFIG_poll_busy, FT_CONFIG_poll_idle, "a busy process is looked at as seldom as an idle one", false},
};

static int64_t number(const struct ft_config *config, enum ft_config_id id)
{
    return atomic_load((const _Atomic int64_t *)(const void *)((const char *)config + ft_config_keys[id].offset));
}

static const char *origin_of(const struct ft_config *config, enum ft_config_id id)
{
    const char *origin = config->values[id].origin;
    return origin ? origin : "the default";
}

static bool is_no_more(int64_t smaller, int64_t larger, bool has_none)
{
    return smaller <= larger || (has_none && larger == 0);
}

// Defaults contradict nobody: a site that lowers the one need not lower the other.
static void check_order(const struct ft_config *config, const struct order *order, struct ft_config_report *report)
{
    const struct ft_config_value *smaller = &config->values[order->smaller], *larger = &config->values[order->larger];
    if (!smaller->origin || is_no_more(number(config, order->smaller), number(config, order->larger), order->has_none))
        return;
    ft_config_tell(report, false, "%s: %s = %s is more than %s = %s (%s): %s", smaller->origin,
                   ft_config_keys[order->smaller].name, smaller->text, ft_config_keys[order->larger].name, larger->text,
                   origin_of(config, order->larger), order->what);
}

static void check_group(const struct ft_config *config, struct ft_config_report *report)
{
    struct group entry, *group = NULL;
    char strings[4096];
    if (!*config->admin_group)
        return;
    getgrnam_r(config->admin_group, &entry, strings, sizeof(strings), &group);
    if (!group)
        ft_config_tell(report, false, "%s: admin_group = %s: there is no such group",
                       origin_of(config, FT_CONFIG_admin_group), config->admin_group);
}

static bool is_earlier(const struct ft_user_modes *modes, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (modes->entries[i].is_known && modes->entries[i].uid == modes->entries[at].uid)
            return true;
    return false;
}

static void check_user_modes(const struct ft_config *config, struct ft_config_report *report)
{
    const char *origin = origin_of(config, FT_CONFIG_user_modes);
    struct ft_user_modes modes;
    if (!ft_mode_is_list(config->user_modes)) {
        ft_config_tell(report, true, "%s: user_modes = %.200s: no list of NAME=trace, NAME=profile, NAME=off", origin,
                       config->user_modes);
        return;
    }
    if (ft_user_modes_make(&modes, config->user_modes) < 0)
        return;
    for (size_t i = 0; i < modes.count; i++) {
        const struct ft_bytes *name = &modes.entries[i].name;
        int shown = name->len < 64 ? (int)name->len : 64;
        if (!modes.entries[i].is_known)
            ft_config_tell(report, false, "%s: user_modes: %.*s: there is no such user", origin, shown, name->data);
        else if (is_earlier(&modes, i))
            ft_config_tell(report, false, "%s: user_modes: %.*s: the user is named before; that counts", origin, shown,
                           name->data);
    }
    ft_user_modes_fini(&modes);
}

// Paths that are set. The daemon makes the last folder of spool_dir itself; by --set they may be from where one is.
static void check_path(const struct ft_config *config, enum ft_config_id id, const char *path,
                       struct ft_config_report *report)
{
    const char *origin = config->values[id].origin, *name = ft_config_keys[id].name;
    size_t bytes = strlen(path);
    struct stat status;
    if (!origin || !*path || (origin[0] == '-' && !report->only_check))
        return;
    bool is_relative = path[0] != '/';
    if (is_relative && origin[0] != '-') {
        ft_config_tell(report, false, "%s: %s = %.200s: does not begin with /, and is sought where flowtapd is started",
                       origin, name, path);
        return;
    }
    while (bytes > 1 && path[bytes - 1] == '/') // of the name itself
        bytes--;
    const char *slash = memrchr(path, '/', bytes);
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    bool is_there = folder && stat(folder, &status) == 0 && S_ISDIR(status.st_mode);
    if (folder && !is_there && (id != FT_CONFIG_socket || is_relative)) // else a service manager may make it
        ft_config_tell(report, false, "%s: %s = %.200s: there is no folder %.200s", origin, name, path, folder);
    free(folder);
    if (id == FT_CONFIG_spool_dir && stat(path, &status) == 0 && !S_ISDIR(status.st_mode))
        ft_config_tell(report, false, "%s: %s = %.200s: is no folder", origin, name, path);
}

// A path that is recorded always begins with /.
static void check_globs(const struct ft_config *config, enum ft_config_id id, const char *globs,
                        struct ft_config_report *report)
{
    for (size_t bytes; *globs; globs += bytes + (globs[bytes] == ':')) {
        bytes = strcspn(globs, ":");
        if (bytes && !strchr("/*?[\\", globs[0]))
            ft_config_tell(report, false, "%s: %s: %.*s: does not begin with / or *, and matches no path",
                           origin_of(config, id), ft_config_keys[id].name, bytes < 200 ? (int)bytes : 200, globs);
    }
}

// Keys that do nothing where there is no private daemon.
static void check_private(const struct ft_config *config, struct ft_config_report *report)
{
    static const enum ft_config_id keys[] = {FT_CONFIG_command, FT_CONFIG_hold_fd, FT_CONFIG_files_fd,
                                             FT_CONFIG_killed_by, FT_CONFIG_end_grace};
    for (size_t i = 0; !config->private && i < sizeof(keys) / sizeof(keys[0]); i++)
        if (config->values[keys[i]].origin)
            ft_config_tell(report, false, "%s: %s does nothing without private = yes", config->values[keys[i]].origin,
                           ft_config_keys[keys[i]].name);
}

void ft_config_check(const struct ft_config *config, struct ft_config_report *report)
{
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
        check_order(config, &orders[i], report);
    check_group(config, report);
    check_user_modes(config, report);
    check_path(config, FT_CONFIG_socket, config->socket, report);
    check_path(config, FT_CONFIG_spool_dir, config->spool_dir, report);
    check_path(config, FT_CONFIG_metrics_file, config->metrics_file, report);
    check_globs(config, FT_CONFIG_include, config->include, report);
    check_globs(config, FT_CONFIG_exclude, config->exclude, report);
    check_private(config, report);
}
