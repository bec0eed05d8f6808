// SPDX-License-Identifier: MIT
#include "daemon/mode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config.h"
#include "daemon/daemon.h"
#include "daemon/drain.h"
#include "daemon/earlier.h"
#include "daemon/identity.h"
#include "daemon/job.h"
#include "daemon/log.h"

static const char *const names[] = {
#define FT_MODE_NAME(value, name, text) [value] = (text),
    FT_MODES(FT_MODE_NAME)
#undef FT_MODE_NAME
};

static int parse(const char *text, size_t length, enum ft_mode *out)
{
    for (int mode = 0; mode < FT_MODE_COUNT; mode++)
        if (strlen(names[mode]) == length && memcmp(names[mode], text, length) == 0) {
            *out = (enum ft_mode)mode;
            return 0;
        }
    return -EINVAL;
}

int ft_mode_parse(const char *text, enum ft_mode *out)
{
    return parse(text, strlen(text), out);
}

// From `from` to `end` without the blanks around it.
static struct ft_bytes trimmed(const char *from, const char *end)
{
    while (from < end && (*from == ' ' || *from == '\t'))
        from++;
    while (end > from && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (struct ft_bytes){.data = from, .len = (size_t)(end - from)};
}

bool ft_mode_next_entry(const char **list, const char **name, size_t *name_bytes, enum ft_mode *mode)
{
    const char *entry = *list, *end = strchrnul(entry, ',');
    const char *equals = memchr(entry, '=', (size_t)(end - entry));
    if (!equals)
        return false;
    struct ft_bytes user = trimmed(entry, equals), word = trimmed(equals + 1, end);
    if (!user.len || parse(word.data, word.len, mode) < 0)
        return false;
    *name = user.data;
    *name_bytes = user.len;
    *list = *end ? end + 1 : end;
    return true;
}

bool ft_mode_is_list(const char *text)
{
    const char *name;
    size_t name_bytes;
    enum ft_mode mode;
    while (*text)
        if (!ft_mode_next_entry(&text, &name, &name_bytes, &mode))
            return false;
    return true;
}

enum ft_mode ft_mode_of_user(const struct ft_daemon *daemon, uint32_t uid)
{
    enum ft_mode mode;
    return ft_user_modes_find(&daemon->user_modes, uid,
                              ft_mode_parse(daemon->config.mode, &mode) < 0 ? FT_MODE_TRACE : mode);
}

enum ft_mode ft_mode_of_process(const struct ft_daemon *daemon, const struct ft_process *process)
{
    enum ft_mode mode = ft_mode_of_user(daemon, process->uid), own;
    struct ft_bytes value;
    if (ft_identity_variable(process->environment, "FLOWTAP_MODE", &value) && parse(value.data, value.len, &own) == 0 &&
        own > mode)
        mode = own;
    return mode;
}

// The process's sums stand under one of its threads.
static uint32_t thread_of_sums(const struct ft_drain *drain, struct ft_process *process, uint32_t thread)
{
    if (process->sums_part != drain->part) {
        process->sums_part = drain->part;
        process->sums_thread = thread;
    }
    return process->sums_thread;
}

int ft_mode_put(struct ft_drain *drain, struct ft_process *process, struct ft_event *event)
{
    bool is_vfork_child = event->flags & FT_EVENT_F_VFORK_CHILD;
    int r;
    if (drain->live)
        ft_live_add(drain, process, event);
    if (process->mode == FT_MODE_TRACE) {
        r = ft_trace_writer_add(drain->writer, event);
        process->rows_pending += r == 0;
        return r;
    }
    if (!is_vfork_child)
        event->thread = thread_of_sums(drain, process, event->thread);
    event->flags |= process->is_capped && !is_vfork_child ? FT_EVENT_F_CAPPED : 0;
    r = ft_trace_writer_add_profiled(drain->writer, event);
    if (r == 0 && event->flags & FT_EVENT_F_CAPPED)
        process->capped_pending++;
    else if (r == 0)
        process->rows_pending++;
    return r;
}

static void cap(struct ft_job *job, struct ft_drain *drain, const char *key)
{
    struct ft_trace_loss loss = {.cause = FT_CAUSE_CAPPED, .when_ns = drain->now_ns};
    job->is_capped = true;
    ft_log(FT_LOG_INFO, "job %s (user %u): passed %s, from now on sums alone are kept", job->key, job->uid, key);
    if (drain->writer)
        ft_trace_writer_put_loss(drain->writer, &loss);
}

void ft_mode_check_cap(struct ft_job *job, struct ft_drain *drain)
{
    const struct ft_config *config = &job->daemon->config;
    if (config->max_events_per_job || config->max_bytes_per_job_bytes)
        ft_earlier_count(job);
    uint64_t bytes = job->bytes_before + (job->storage.writer ? ft_trace_writer_bytes(job->storage.writer) : 0);
    if (!job->is_capped && config->max_events_per_job && job->events >= (uint64_t)config->max_events_per_job)
        cap(job, drain, "max_events_per_job");
    if (!job->is_capped && ft_spool_room_of(job->daemon, job->uid) != FT_ROOM_FOR_ALL)
        cap(job, drain, "max_user_stored");
    if (!job->is_capped && config->max_bytes_per_job_bytes && bytes >= (uint64_t)config->max_bytes_per_job_bytes)
        cap(job, drain, "max_bytes_per_job");
    if (!job->is_capped)
        return;
    for (struct ft_process *process = job->processes; process; process = process->next)
        if (process->mode == FT_MODE_TRACE) {
            process->mode = FT_MODE_PROFILE;
            process->is_capped = true;
        }
}
