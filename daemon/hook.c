// SPDX-License-Identifier: MIT
#include "daemon/hook.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "daemon/daemon.h"
#include "daemon/log.h"

enum { RUNNING_MAX = 4, WAITING_MAX = 4096, VARIABLES = 4 };

#define ABOUT(run) FT_LOG_ABOUT(.job = (run)->job, FT_LOG_USER((run)->uid))

extern char **environ;

struct ft_hook_run {
    struct ft_hook_run *next;
    struct ft_daemon *daemon;
    uv_process_t process;
    uv_timer_t timer;
    int handles; // to be closed before it may go
    bool is_killed;
    int64_t started_ns;
    uint32_t uid;
    char job[FT_IDENTITY_JOB_MAX + 1];
    char variables[VARIABLES][FT_SPOOL_PATH_MAX + 64];
};

void ft_hook_init(struct ft_hook *hook)
{
    *hook = (struct ft_hook){.waiting = NULL};
    hook->waiting_end = &hook->waiting;
}

static void start_waiting(struct ft_daemon *daemon);

static void on_closed(uv_handle_t *handle)
{
    struct ft_hook_run *run = handle->data;
    if (--run->handles == 0)
        free(run);
}

// The handles go, and with the last of them the run.
static void forget(struct ft_hook_run *run)
{
    struct ft_hook *hook = &run->daemon->hook;
    struct ft_hook_run **link = &hook->running;
    while (*link && *link != run)
        link = &(*link)->next;
    if (*link)
        *link = run->next;
    hook->running_count--;
    bool has_process = run->process.loop != NULL; // it may have failed before there was one
    run->handles = 1 + has_process;
    uv_close((uv_handle_t *)&run->timer, on_closed);
    if (has_process)
        uv_close((uv_handle_t *)&run->process, on_closed);
}

static void on_exit_of(uv_process_t *process, int64_t status, int signal_number)
{
    struct ft_hook_run *run = process->data;
    struct ft_daemon *daemon = run->daemon;
    double seconds = (double)(ft_clock_mono_ns() - run->started_ns) / 1e9;
    if (status == 0 && signal_number == 0) {
        ft_log_about(FT_LOG_INFO, ABOUT(run), "job %s of user %u: job_finished_command done in %.1f s", run->job,
                     run->uid, seconds);
        ft_status_add(&daemon->status, hooks_done, 1);
    } else {
        ft_log_about(FT_LOG_WARNING, ABOUT(run),
                     "job %s of user %u: job_finished_command failed after %.1f s: %s %lld%s", run->job, run->uid,
                     seconds, signal_number ? "signal" : "exit status",
                     signal_number ? (long long)signal_number : (long long)status,
                     run->is_killed ? "; it was over job_finished_timeout" : "");
        ft_status_add(&daemon->status, hooks_failed, 1);
    }
    forget(run);
    start_waiting(daemon);
}

static void on_timeout(uv_timer_t *timer)
{
    struct ft_hook_run *run = timer->data;
    run->is_killed = true;
    kill(-run->process.pid, SIGKILL); // with what it started: it leads a session
}

// The daemon's own environment without what would trace, and what the command wants to know.
static char **make_environment(struct ft_hook_run *run)
{
    size_t count = 0, used = 0;
    while (environ[count])
        count++;
    char **list = calloc(count + VARIABLES + 1, sizeof(*list));
    if (!list)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "FLOWTAP", 7) != 0 && strncmp(environ[i], "LD_PRELOAD=", 11) != 0 &&
            strncmp(environ[i], "NOTIFY_SOCKET=", 14) != 0)
            list[used++] = environ[i];
    for (size_t i = 0; i < VARIABLES; i++)
        list[used++] = run->variables[i];
    return list;
}

static int spawn(struct ft_hook_run *run)
{
    struct ft_daemon *daemon = run->daemon;
    char shell[] = "/bin/sh", flag[] = "-c";
    char *arguments[] = {shell, flag, daemon->config.job_finished_command, NULL};
    uv_stdio_container_t streams[3] = {{.flags = UV_IGNORE}, {.flags = UV_INHERIT_FD}, {.flags = UV_INHERIT_FD}};
    streams[1].data.fd = streams[2].data.fd = 2;
    char **environment = make_environment(run);
    if (!environment)
        return UV_ENOMEM;
    const uv_process_options_t options = {
        .exit_cb = on_exit_of,
        .file = shell,
        .args = arguments,
        .env = environment,
        .cwd = daemon->config.spool_dir,
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = 3,
        .stdio = streams,
    };
    int r = uv_spawn(&daemon->loop, &run->process, &options);
    free(environment);
    return r;
}

static void start(struct ft_hook_run *run)
{
    struct ft_daemon *daemon = run->daemon;
    struct ft_hook *hook = &daemon->hook;
    run->process.data = run->timer.data = run;
    run->started_ns = ft_clock_mono_ns();
    run->next = hook->running;
    hook->running = run;
    hook->running_count++;
    uv_timer_init(&daemon->loop, &run->timer);
    int r = spawn(run);
    uv_unref((uv_handle_t *)&run->timer);
    if (r == 0)
        uv_unref((uv_handle_t *)&run->process); // the daemon's end does not wait for it
    if (r < 0) {
        ft_log_about(FT_LOG_ERR, ABOUT(run), "job %s of user %u: job_finished_command cannot be started: %s", run->job,
                     run->uid, uv_strerror(r));
        ft_status_add(&daemon->status, hooks_failed, 1);
        forget(run);
        return;
    }
    uv_timer_start(&run->timer, on_timeout, (uint64_t)(daemon->config.job_finished_timeout_ns / 1000000), 0);
}

static void start_waiting(struct ft_daemon *daemon)
{
    struct ft_hook *hook = &daemon->hook;
    while (hook->waiting && hook->running_count < RUNNING_MAX) {
        struct ft_hook_run *run = hook->waiting;
        hook->waiting = run->next;
        hook->waiting_count--;
        if (!hook->waiting)
            hook->waiting_end = &hook->waiting;
        start(run);
    }
}

static struct ft_hook_run *make(struct ft_daemon *daemon, const struct ft_job *job)
{
    struct ft_hook_run *run = calloc(1, sizeof(*run));
    char folder[FT_IDENTITY_JOB_MAX + 1];
    if (!run)
        return NULL;
    run->daemon = daemon;
    run->uid = job->uid;
    snprintf(run->job, sizeof(run->job), "%s", job->identity.job);
    ft_storage_job_folder(job, folder, sizeof(folder));
    size_t room = sizeof(run->variables[0]);
    snprintf(run->variables[0], room, "FLOWTAP_JOB_ID=%s", job->identity.job);
    snprintf(run->variables[1], room, "FLOWTAP_JOB_UID=%" PRIu32, job->uid);
    snprintf(run->variables[2], room, "FLOWTAP_JOB_FOLDER=%s/%" PRIu32 "/%s", daemon->config.spool_dir, job->uid,
             folder);
    snprintf(run->variables[3], room, "FLOWTAP_HOST=%s", daemon->host);
    return run;
}

void ft_hook_note_finished(struct ft_daemon *daemon, const struct ft_job *job)
{
    struct ft_hook *hook = &daemon->hook;
    if (!daemon->config.job_finished_command[0] || daemon->config.private || !job->storage.part)
        return;
    struct ft_hook_run *run = NULL;
    if (!daemon->is_ending && hook->waiting_count < WAITING_MAX)
        run = make(daemon, job);
    if (!run) {
        ft_log_limited_about(FT_LOG_WARNING, FT_LOG_ABOUT(.job = job->identity.job, FT_LOG_USER(job->uid)),
                             "job %s of user %u: job_finished_command is not run: %s", job->identity.job, job->uid,
                             daemon->is_ending ? "the daemon ends" : "too many wait already");
        return;
    }
    *hook->waiting_end = run;
    hook->waiting_end = &run->next;
    hook->waiting_count++;
    start_waiting(daemon);
}

void ft_hook_close(struct ft_daemon *daemon)
{
    struct ft_hook *hook = &daemon->hook;
    for (struct ft_hook_run *run = hook->waiting, *next; run; run = next) {
        next = run->next;
        ft_log_about(FT_LOG_WARNING, ABOUT(run), "job %s of user %u: job_finished_command is not run: the daemon ends",
                     run->job, run->uid);
        free(run);
    }
    hook->waiting = NULL;
    hook->waiting_end = &hook->waiting;
    hook->waiting_count = 0;
    while (hook->running)
        forget(hook->running);
}
