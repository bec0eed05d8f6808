// SPDX-License-Identifier: MIT
//
// The loop's table of processes by pid, and the watch over their ends.
#include <stdlib.h>

#include "daemon/daemon.h"
#include "daemon/log.h"

static struct ft_process **bucket_of(struct ft_daemon *daemon, uint32_t pid)
{
    return &daemon->by_pid[pid % FT_DAEMON_PIDS];
}

struct ft_process *ft_daemon_find_process(const struct ft_daemon *daemon, uint32_t pid)
{
    struct ft_process *process = daemon->by_pid[pid % FT_DAEMON_PIDS];
    while (process && process->pid != pid)
        process = process->next_of_pid;
    return process;
}

static void on_end(uv_poll_t *watch, int status, int events)
{
    struct ft_process *process = watch->data;
    (void)status;
    (void)events;
    uv_poll_stop(watch);
    // What it executed last has attached before it ended, and may wait in the queue still: then that image ended, not this.
    ft_listener_accept_all(process->job->daemon);
    ft_daemon_note_end(process->job->daemon, process, FT_PROCESS_ENDED, ft_clock_mono_ns());
}

void ft_daemon_add_process(struct ft_daemon *daemon, struct ft_process *process)
{
    struct ft_process **bucket = bucket_of(daemon, process->pid);
    process->next_of_pid = *bucket;
    *bucket = process;
    daemon->process_count++;
    ft_attached_note(&daemon->attached, process->pid, false, ft_clock_mono_ns());
    if (process->pidfd < 0 || atomic_load(&process->state) != FT_PROCESS_ALIVE)
        return;
    if (uv_poll_init(&daemon->loop, &process->watch, process->pidfd) < 0) {
        ft_log_limited_about(FT_LOG_WARNING, FT_LOG_ABOUT(FT_LOG_USER(process->uid), .pid = process->pid),
                             "process %u: its end cannot be watched", process->pid);
        return;
    }
    process->has_watch = true;
    process->watch.data = process;
    uv_poll_start(&process->watch, UV_READABLE, on_end);
}

static void on_watch_closed(uv_handle_t *handle)
{
    ft_process_destroy(handle->data);
}

void ft_daemon_remove_process(struct ft_daemon *daemon, struct ft_process *process)
{
    struct ft_process **link = bucket_of(daemon, process->pid);
    while (*link && *link != process)
        link = &(*link)->next_of_pid;
    if (*link)
        *link = process->next_of_pid;
    daemon->process_count--;
    ft_heap_note_gone(daemon);
    ft_users_give_process(&daemon->users, process->uid);
    if (process->has_watch)
        uv_close((uv_handle_t *)&process->watch, on_watch_closed);
    else
        ft_process_destroy(process);
}

// Its parent's counters take in the child's when it reaps it.
static void tell_parent(struct ft_daemon *daemon, struct ft_process *process)
{
    struct ft_process *parent = ft_daemon_find_process(daemon, process->parent_pid);
    process->has_traced_parent = parent && atomic_load(&parent->state) == FT_PROCESS_ALIVE;
    if (!process->has_traced_parent || !process->end_counters.is_known)
        return;
#define X(name) atomic_fetch_add(&parent->children.name, process->end_counters.name);
    FT_PROCESS_COUNTERS(X)
#undef X
}

void ft_daemon_note_end(struct ft_daemon *daemon, struct ft_process *process, int state, int64_t when_ns)
{
    if (process->has_watch)
        uv_poll_stop(&process->watch);
    if (atomic_load(&process->state) == FT_PROCESS_ALIVE) {
        ft_process_catch_end(process, state);
        if (state == FT_PROCESS_ENDED)
            tell_parent(daemon, process);
        ft_process_note_end(process, state, when_ns);
    }
    ft_job_wake(process->job, ft_clock_mono_ns() + daemon->config.block_after_end_ns);
    ft_private_note_end(daemon);
}
