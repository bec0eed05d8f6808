// SPDX-License-Identifier: MIT
#include "daemon/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/pass.h"
#include "daemon/stored_name.h"

#define NS_PER_MS INT64_C(1000000)
// A private daemon serves one command: all its processes go to one file, whatever job they name.
#define PRIVATE_KEY "private"

// More that have come are taken in at once.
#define INBOX_LONG 64
// How long one that has ended since it came may wait there: the pass that drains it is later (block_after_end).
#define INBOX_ENDED_NS INT64_C(50000000)

static void start_pass(struct ft_job *job);
static void on_timer(uv_timer_t *timer);

static void arm(struct ft_job *job, int64_t when_ns)
{
    int64_t now_ns = ft_clock_mono_ns();
    int64_t wait_ms = when_ns <= now_ns ? 0 : (when_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
    uv_update_time(&job->daemon->loop);
    uv_timer_start(&job->timer, on_timer, (uint64_t)wait_ms, 0);
}

// When who came since the last pass is to be taken in: one that lives is to be looked at, of one that has ended by now
// nothing can be lost. Most processes of a build live no longer than that, and a pass for each costs more than all else
// that is done for it.
static int64_t due_of_new_ns(const struct ft_job *job, const struct ft_process *process)
{
    bool is_ended = atomic_load(&process->state) != FT_PROCESS_ALIVE;
    return process->admitted_ns + (is_ended ? INBOX_ENDED_NS : (int64_t)job->daemon->config.poll_busy_ns);
}

static int64_t inbox_due_ns(struct ft_job *job)
{
    int64_t due_ns = INT64_MAX;
    pthread_mutex_lock(&job->lock);
    for (const struct ft_process *process = job->inbox; process; process = process->next) {
        int64_t one_ns = due_of_new_ns(job, process);
        due_ns = one_ns < due_ns ? one_ns : due_ns;
    }
    if (job->inbox_count > INBOX_LONG)
        due_ns = 0;
    pthread_mutex_unlock(&job->lock);
    return due_ns;
}

static int64_t due_of_pass_ns(struct ft_job *job)
{
    int64_t inbox_ns = inbox_due_ns(job);
    return inbox_ns < job->wanted_ns ? inbox_ns : job->wanted_ns;
}

// A timer of milliseconds may come up to one too early.
static void on_timer(uv_timer_t *timer)
{
    struct ft_job *job = timer->data;
    int64_t due_ns = due_of_pass_ns(job);
    if (due_ns > ft_clock_mono_ns() + NS_PER_MS)
        arm(job, due_ns);
    else
        start_pass(job);
}

static void run_pass(uv_work_t *work)
{
    struct ft_job *job = work->data;
    ft_pass_run(job);
}

static void on_closed(uv_handle_t *handle)
{
    struct ft_job *job = handle->data;
    ft_batch_fini(&job->batch);
    ft_lives_fini(&job->lives);
    ft_headroom_fini(&job->headroom);
    ft_children_fini(&job->children);
    ft_refused_fini(&job->refused);
    ft_live_fini(&job->live);
    free(job->taken_over);
    pthread_mutex_destroy(&job->lock);
    free(job);
}

static void remove_job(struct ft_job *job)
{
    struct ft_daemon *daemon = job->daemon;
    struct ft_job **link = &daemon->jobs;
    while (*link && *link != job)
        link = &(*link)->next;
    if (*link)
        *link = job->next;
    daemon->job_count--;
    ft_heap_note_gone(daemon);
    ft_users_remove_job(&daemon->users, job->uid);
    job->is_closing = true;
    uv_close((uv_handle_t *)&job->timer, on_closed);
}

// What the service manager holds stays with it until all is in the file.
static bool must_stay(const struct ft_job *job, const struct ft_process *process)
{
    return process->stored_name && job->is_unwritten && !job->is_all_written;
}

static void take_back_processes(struct ft_job *job)
{
    pthread_mutex_lock(&job->lock);
    struct ft_process *done = job->done;
    job->done = NULL;
    pthread_mutex_unlock(&job->lock);
    for (struct ft_process *process = done, *next; process; process = next) {
        next = process->next;
        if (must_stay(job, process)) {
            process->next = job->done;
            job->done = process;
            continue;
        }
        // It may have ended since: what it wrote in between is not in the file.
        bool is_kept = job->is_unwritten || (job->daemon->is_ending && process->is_left);
        ft_store_note_gone(job->daemon, process, is_kept);
        job->process_count--;
        ft_daemon_remove_process(job->daemon, process);
    }
}

// A job whose last process is gone stays a while: the next command of a script belongs to the same file.
static int64_t linger(struct ft_job *job)
{
    int64_t now_ns = ft_clock_mono_ns();
    if (!job->empty_since_ns)
        job->empty_since_ns = now_ns;
    const struct ft_config *config = &job->daemon->config;
    bool is_session = job->identity.source == FT_JOB_SOURCE_SESSION;
    int64_t until_ns = job->empty_since_ns + (is_session ? config->session_linger_ns : config->job_linger_ns);
    if (now_ns < until_ns)
        return until_ns;
    ft_listener_accept_all(job->daemon); // who waits in the queue may be of this job
    if (job->process_count)
        return INT64_MAX; // it was woken
    atomic_store(&job->is_finishing, true);
    return now_ns;
}

static void after_pass(uv_work_t *work, int status)
{
    struct ft_job *job = work->data;
    (void)status;
    job->is_running = false;
    take_back_processes(job);
    if (job->is_all_written) {
        struct ft_daemon *daemon = job->daemon;
        ft_hook_note_finished(daemon, job);
        ft_retain_soon(daemon);
        remove_job(job);
        ft_daemon_note_job_gone(daemon);
        return;
    }
    int64_t wake_ns = atomic_exchange(&job->wake_ns, INT64_MAX);
    int64_t next_ns = job->next_pass_ns < wake_ns ? job->next_pass_ns : wake_ns;
    if (atomic_load(&job->is_finishing))
        next_ns = 0;
    else if (!job->process_count && next_ns == INT64_MAX && !job->must_have_file)
        next_ns = linger(job);
    job->wanted_ns = next_ns < job->wanted_ns ? next_ns : job->wanted_ns;
    int64_t due_ns = due_of_pass_ns(job);
    if (due_ns != INT64_MAX)
        arm(job, due_ns);
}

static void start_pass(struct ft_job *job)
{
    if (job->is_running || job->is_closing)
        return;
    job->is_running = true;
    job->work.data = job;
    job->wanted_ns = INT64_MAX;
    uv_timer_stop(&job->timer);
    uv_queue_work(&job->daemon->loop, &job->work, run_pass, after_pass);
}

// At `when_ns` at the latest; nobody works on it.
static void arm_by(struct ft_job *job, int64_t when_ns)
{
    int64_t now_ns = ft_clock_mono_ns();
    int64_t armed_in_ns = uv_is_active((uv_handle_t *)&job->timer)
                              ? (int64_t)uv_timer_get_due_in(&job->timer) * NS_PER_MS
                              : INT64_MAX - now_ns;
    if (when_ns < now_ns + armed_in_ns)
        arm(job, when_ns);
}

void ft_job_wake(struct ft_job *job, int64_t when_ns)
{
    if (job->is_closing)
        return;
    if (job->is_running) {
        if (when_ns < atomic_load(&job->wake_ns))
            atomic_store(&job->wake_ns, when_ns);
        return;
    }
    job->wanted_ns = when_ns < job->wanted_ns ? when_ns : job->wanted_ns;
    arm_by(job, when_ns);
}

void ft_job_finish(struct ft_job *job)
{
    atomic_store(&job->is_finishing, true);
    ft_job_wake(job, 0);
}

static bool is_every_job_taken(const struct ft_daemon *daemon)
{
    return daemon->job_count >= (uint32_t)daemon->config.max_jobs;
}

static struct ft_job *create(struct ft_daemon *daemon, const char *key, uint32_t uid,
                             const struct ft_identity *identity)
{
    struct ft_job *job = is_every_job_taken(daemon) ? NULL : calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->daemon = daemon;
    job->uid = uid;
    job->identity = *identity;
    job->identity.workflow = (struct ft_bytes){0}; // points into the process
    snprintf(job->key, sizeof(job->key), "%s", key);
    job->storage.fd = -1;
    job->next_pass_ns = job->wanted_ns = INT64_MAX;
    ft_children_init(&job->children);
    job->must_have_file = daemon->config.private;
    job->realtime_offset_ns = daemon->realtime_offset_ns;
    atomic_store(&job->wake_ns, INT64_MAX);
    pthread_mutex_init(&job->lock, NULL);
    uv_timer_init(&daemon->loop, &job->timer);
    job->timer.data = job;
    job->next = daemon->jobs;
    daemon->jobs = job;
    daemon->job_count++;
    ft_users_add_job(&daemon->users, uid);
    return job;
}

struct ft_job *ft_job_find(struct ft_daemon *daemon, const char *key, uint32_t uid)
{
    for (struct ft_job *job = daemon->jobs; job; job = job->next)
        if ((job->uid == uid || daemon->config.private) && !atomic_load(&job->is_finishing) &&
            (!key || strcmp(job->key, key) == 0))
            return job;
    return NULL;
}

// Whether a user has as many jobs as one may. What a daemon before us had is gone on with all the same.
bool ft_job_has_its_share(const struct ft_daemon *daemon, uint32_t uid)
{
    int64_t count = 0;
    for (const struct ft_job *job = daemon->jobs; job; job = job->next)
        count += job->uid == uid;
    return count >= daemon->config.max_jobs_per_user;
}

int ft_job_list_running(struct ft_daemon *daemon, uint32_t uid, struct ft_spool_list *list)
{
    for (const struct ft_job *job = daemon->config.private ? NULL : daemon->jobs; job; job = job->next) {
        if (uid != UINT32_MAX && job->uid != uid)
            continue;
        struct ft_spool_job *entry = ft_spool_add(list);
        if (!entry)
            return -ENOMEM;
        entry->uid = job->uid;
        entry->is_running = true;
        ft_storage_read_open(&job->storage, &entry->inode, &entry->events);
        snprintf(entry->job, sizeof(entry->job), "%s", job->identity.job);
        ft_storage_job_folder(job, entry->folder, sizeof(entry->folder));
    }
    return 0;
}

int ft_job_get(struct ft_daemon *daemon, const struct ft_process *process, bool is_held, struct ft_job **out)
{
    const char *key = daemon->config.private ? PRIVATE_KEY : process->identity.job;
    struct ft_job *job = ft_job_find(daemon, key, process->uid);
    bool is_full = is_every_job_taken(daemon) || (!is_held && ft_job_has_its_share(daemon, process->uid));
    if (!job && is_full)
        return -EUSERS;
    job = job ? job : create(daemon, key, process->uid, &process->identity);
    if (!job)
        return -ENOMEM;
    *out = job;
    return 0;
}

struct ft_job *ft_job_make(struct ft_daemon *daemon, uint32_t uid, const struct ft_identity *identity)
{
    const char *key = daemon->config.private ? PRIVATE_KEY : identity->job;
    struct ft_job *job = ft_job_find(daemon, key, uid);
    return job ? job : create(daemon, key, uid, identity);
}

struct ft_job *ft_job_get_private(struct ft_daemon *daemon)
{
    const struct ft_identity_input input = {.login_session = UINT32_MAX, .session = ft_process_private_session()};
    struct ft_identity identity;
    struct ft_job *job = ft_job_find(daemon, PRIVATE_KEY, geteuid());
    ft_identity_find(&input, &identity);
    return job ? job : create(daemon, PRIVATE_KEY, geteuid(), &identity);
}

void ft_job_add(struct ft_job *job, struct ft_process *process)
{
    process->job = job;
    job->process_count++;
    job->empty_since_ns = 0;
    process->admitted_ns = ft_clock_mono_ns();
    int64_t due_ns = due_of_new_ns(job, process);
    pthread_mutex_lock(&job->lock);
    process->next = job->inbox;
    job->inbox = process;
    if (++job->inbox_count > INBOX_LONG)
        due_ns = 0;
    pthread_mutex_unlock(&job->lock);
    // Many come at a time: one pass takes them all. After a pass that goes on the inbox is looked at anyway.
    if (!job->is_running && !job->is_closing)
        arm_by(job, due_ns);
}
