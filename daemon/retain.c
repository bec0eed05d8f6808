// SPDX-License-Identifier: MIT
#include "daemon/retain.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/log.h"

#define INTERVAL_NS INT64_C(60000000000)

void ft_retain_init(struct ft_retain *retain)
{
    pthread_mutex_init(&retain->lock, NULL);
}

void ft_retain_fini(struct ft_retain *retain)
{
    pthread_mutex_destroy(&retain->lock);
}

static int oldest_first(const void *a, const void *b)
{
    const struct ft_spool_job *x = a, *y = b;
    if (x->is_running != y->is_running)
        return x->is_running - y->is_running;
    return (x->newest_ns > y->newest_ns) - (x->newest_ns < y->newest_ns);
}

static uint64_t bytes_of_user(const struct ft_spool_list *list, size_t from, uint32_t uid)
{
    uint64_t bytes = 0;
    for (size_t i = from; i < list->count; i++)
        bytes += list->jobs[i].uid == uid ? list->jobs[i].bytes : 0;
    return bytes;
}

static void move_to(struct ft_spool_list *list, size_t from, size_t to)
{
    struct ft_spool_job job = list->jobs[from];
    memmove(&list->jobs[to + 1], &list->jobs[to], (from - to) * sizeof(job));
    list->jobs[to] = job;
}

// Users whose share is exceeded lose their own oldest. `gone` were chosen before.
static size_t choose_of_users(struct ft_spool_list *list, const struct ft_retain_limits *limits, size_t gone)
{
    if (!limits->bytes_of_one)
        return gone;
    for (size_t i = gone; i < list->count && !list->jobs[i].is_running; i++)
        if (bytes_of_user(list, i, list->jobs[i].uid) > limits->bytes_of_one)
            move_to(list, i, gone++);
    return gone;
}

size_t ft_retain_choose(struct ft_spool_list *list, const struct ft_retain_limits *limits, int64_t now_ns)
{
    uint64_t all = 0;
    size_t gone = 0;
    if (list->count)
        qsort(list->jobs, list->count, sizeof(*list->jobs), oldest_first);
    for (; limits->age_ns && gone < list->count && !list->jobs[gone].is_running; gone++)
        if (now_ns - list->jobs[gone].newest_ns <= limits->age_ns)
            break;
    gone = choose_of_users(list, limits, gone);
    for (size_t i = gone; i < list->count; i++)
        all += list->jobs[i].bytes;
    for (; limits->bytes_all && all > limits->bytes_all && gone < list->count && !list->jobs[gone].is_running; gone++)
        all -= list->jobs[gone].bytes;
    return gone;
}

// All in a folder that nobody else knows any more; it holds no folders of ours.
static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    if (rmdir(path) < 0)
        ft_log_limited(FT_LOG_ERR, "%s: cannot be removed: %s", path, strerror(errno));
}

// Takes a job's folder away if it still is what was looked at.
static void remove_job(struct ft_daemon *daemon, const struct ft_spool_job *job)
{
    char from[FT_SPOOL_PATH_MAX], to[FT_SPOOL_PATH_MAX];
    struct ft_spool_job now = {0};
    const char *spool = daemon->config.spool_dir;
    snprintf(from, sizeof(from), "%s/%" PRIu32 "/%s", spool, job->uid, job->folder);
    snprintf(to, sizeof(to), "%s/%" PRIu32 "/" FT_SPOOL_REMOVED_PREFIX "%" PRIu64, spool, job->uid,
             ++daemon->retain.removed);
    pthread_mutex_lock(&daemon->retain.lock);
    bool is_same = ft_spool_measure(from, &now) && now.files == job->files && now.bytes == job->bytes &&
                   now.newest_ns == job->newest_ns;
    int error = !is_same ? EBUSY : rename(from, to) < 0 ? errno : 0;
    pthread_mutex_unlock(&daemon->retain.lock);
    if (error == EBUSY)
        return; // it goes on; or the next look takes it
    if (error) {
        ft_log_limited(FT_LOG_ERR, "%s: cannot be removed: %s", from, strerror(error));
        return;
    }
    remove_folder(to);
    ft_status_add(&daemon->status, retired, 1);
    ft_log_about(FT_LOG_INFO, FT_LOG_ABOUT(.job = job->job, FT_LOG_USER(job->uid)),
                 "job %s of user %u: its traces (%" PRIu64 " bytes) are over a limit and were removed", job->job,
                 job->uid, job->bytes);
}

// Of a daemon that ended while it removed.
static void remove_leftovers(const char *spool, const struct ft_spool_list *list)
{
    uint32_t last = UINT32_MAX;
    for (size_t i = 0; i < list->count; i++) {
        char path[FT_SPOOL_PATH_MAX];
        if (list->jobs[i].uid == last)
            continue;
        last = list->jobs[i].uid;
        int n = snprintf(path, sizeof(path), "%s/%" PRIu32, spool, last);
        DIR *user = opendir(path);
        for (struct dirent *entry; user && (entry = readdir(user));) {
            if (strncmp(entry->d_name, FT_SPOOL_REMOVED_PREFIX, strlen(FT_SPOOL_REMOVED_PREFIX)) != 0)
                continue;
            snprintf(path + n, sizeof(path) - (size_t)n, "/%s", entry->d_name);
            remove_folder(path);
        }
        if (user)
            closedir(user);
    }
}

static struct ft_daemon *daemon_of(struct ft_aside *aside)
{
    return (struct ft_daemon *)((char *)aside - offsetof(struct ft_daemon, retain.aside));
}

static void run(struct ft_aside *aside)
{
    struct ft_daemon *daemon = daemon_of(aside);
    const struct ft_config *config = &daemon->config;
    const struct ft_retain_limits limits = {
        .age_ns = config->retain_age_ns,
        .bytes_all = (uint64_t)config->retain_size_bytes,
        .bytes_of_one = (uint64_t)config->retain_user_size_bytes,
    };
    struct ft_spool_list list;
    if (ft_spool_list(config->spool_dir, UINT32_MAX, NULL, &list) == 0) {
        remove_leftovers(config->spool_dir, &list);
        for (size_t i = 0; i < daemon->retain.running.count; i++) {
            const struct ft_spool_job *running = &daemon->retain.running.jobs[i];
            struct ft_spool_job *job = ft_spool_find(&list, running->uid, running->folder);
            if (job)
                job->is_running = true;
        }
        int64_t now_ns = ft_clock_mono_ns() + ft_clock_realtime_offset_ns();
        size_t count = ft_retain_choose(&list, &limits, now_ns);
        for (size_t i = 0; i < count; i++)
            remove_job(daemon, &list.jobs[i]);
    }
    ft_spool_list_fini(&list);
}

static void after(struct ft_aside *aside)
{
    struct ft_daemon *daemon = daemon_of(aside);
    ft_spool_list_fini(&daemon->retain.running);
    daemon->retain.is_running = false;
}

static bool has_limits(const struct ft_config *config)
{
    return config->retain_age_ns || config->retain_size_bytes || config->retain_user_size_bytes;
}

void ft_retain_tick(struct ft_daemon *daemon, int64_t now_ns)
{
    struct ft_retain *retain = &daemon->retain;
    // Before all is taken over from a daemon before us, it is not known which jobs run.
    bool may = !retain->is_running && !daemon->config.private && !daemon->is_ending && !daemon->successor;
    if (!may || now_ns < retain->next_ns || !has_limits(&daemon->config))
        return;
    if (ft_job_list_running(daemon, UINT32_MAX, &retain->running) < 0) {
        ft_spool_list_fini(&retain->running);
        return;
    }
    retain->is_running = true;
    retain->next_ns = now_ns + INTERVAL_NS;
    retain->aside.run = run;
    retain->aside.after = after;
    ft_aside_start(&daemon->loop, &retain->aside);
}

void ft_retain_soon(struct ft_daemon *daemon)
{
    daemon->retain.next_ns = 0;
}
