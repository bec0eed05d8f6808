// SPDX-License-Identifier: MIT
#include "daemon/unseen.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/client.h"
#include "daemon/daemon.h"
#include "daemon/stored_name.h"

// Where nothing else of the user is here: a file that holds but this.
static struct ft_job *job_of_stranger(struct ft_daemon *daemon, uint32_t uid, uint32_t pid)
{
    struct ft_identity identity;
    if (daemon->config.private)
        return ft_job_get_private(daemon);
    if (ft_job_has_its_share(daemon, uid))
        return NULL;
    ft_process_identify_stranger(pid, &identity);
    return ft_job_make(daemon, uid, &identity);
}

struct unseen {
    uint32_t uid, pid;
    enum ft_gap gap;
    const char *exe; // as of ft_refused_add()
    const char *reason;
};

// `job`: where it is known.
static void note_unseen(struct ft_daemon *daemon, struct ft_job *job, const struct unseen *unseen)
{
    job = job ? job : ft_job_find(daemon, NULL, unseen->uid);
    job = job ? job : job_of_stranger(daemon, unseen->uid, unseen->pid);
    if (!job)
        return;
    // Of its start nothing more is told: it is a gap once.
    ft_attached_note(&daemon->attached, unseen->pid, true, ft_clock_mono_ns());
    pthread_mutex_lock(&job->lock);
    ft_refused_add(&job->refused, unseen->pid, unseen->gap, unseen->exe, unseen->reason);
    int64_t due_ns = ft_refused_due_ns(&job->refused);
    pthread_mutex_unlock(&job->lock);
    int64_t soon_ns = ft_clock_mono_ns() + daemon->config.poll_busy_ns;
    ft_job_wake(job, due_ns > soon_ns ? due_ns : soon_ns);
}

void ft_unseen_note_refused(struct ft_daemon *daemon, uint32_t uid, uint32_t pid, const char *reason)
{
    const struct unseen unseen = {.uid = uid, .pid = pid, .gap = FT_GAP_NOT_ADMITTED, .reason = reason};
    note_unseen(daemon, NULL, &unseen);
}

// What a workload manager's control group tells, of one that is there still; NULL: nothing.
static struct ft_job *job_by_cgroup(struct ft_daemon *daemon, uint32_t uid, uint32_t pid)
{
    struct ft_identity identity;
    if (daemon->config.private)
        return NULL;
    ft_process_identify_stranger(pid, &identity);
    if (identity.source != FT_JOB_SOURCE_CGROUP)
        return NULL;
    struct ft_job *job = ft_job_find(daemon, identity.job, uid);
    return job || ft_job_has_its_share(daemon, uid) ? job : ft_job_make(daemon, uid, &identity);
}

static void note_client(struct ft_daemon *daemon, uint32_t uid, uint32_t pid, enum ft_gap gap,
                        const struct ft_client *client, const char *reason)
{
    const struct unseen unseen = {.uid = uid, .pid = pid, .gap = gap, .exe = client->exe, .reason = reason};
    if (client->is_program)
        note_unseen(daemon, job_by_cgroup(daemon, uid, pid), &unseen);
}

void ft_unseen_note_closed(struct ft_daemon *daemon, uint32_t uid, uint32_t pid, const struct ft_client *client,
                           const char *reason)
{
    note_client(daemon, uid, pid, FT_GAP_NOT_ADMITTED, client, reason);
}

// A process that ends gives up its memory, and so its executable, before its descriptors.
static bool is_running(uint32_t pid)
{
    char path[32], exe[8];
    snprintf(path, sizeof(path), "/proc/%u/exe", pid);
    return readlink(path, exe, sizeof(exe)) >= 0 || errno == EACCES;
}

void ft_unseen_note_silent(struct ft_daemon *daemon, uint32_t uid, uint32_t pid, const struct ft_client *client)
{
    // A child that goes on is told by its parent's record, with what its parent knows.
    bool is_left_to_parent = client->image != FT_IMAGE_EXEC && is_running(pid);
    if (!is_left_to_parent)
        note_client(daemon, uid, pid, FT_GAP_NOT_ATTACHED, client,
                    "it had connected and did not send its memory: it was ended just then, or could not");
}

void ft_unseen_note_lost(struct ft_daemon *daemon, uint32_t uid, uint32_t pid, uint64_t folder)
{
    struct ft_job *found = NULL;
    char name[FT_IDENTITY_JOB_MAX + 1];
    int64_t now_ns = ft_clock_mono_ns();
    for (struct ft_job *job = daemon->jobs; job; job = job->next) {
        if (job->uid != uid)
            continue;
        // Its parent may have told of it: it is a gap once.
        ft_children_note_attached(&job->children, pid, pid, now_ns, FT_BYTES(""));
        ft_storage_job_folder(job, name, sizeof(name));
        if (folder && ft_stored_name_folder(name) == folder)
            found = job;
    }
    const struct unseen unseen = {
        .uid = uid,
        .pid = pid,
        .gap = FT_GAP_DAEMON_STOPPED,
        .reason = "the daemon was killed when the process had attached and nobody held its memory yet"};
    note_unseen(daemon, found, &unseen);
}

void ft_unseen_note_killed(struct ft_daemon *daemon)
{
    static char reason[320]; // of the one private job
    const char *rest = "what it had not written, and what started before the next one listened, is lost";
    snprintf(reason, sizeof(reason), "flowtapd ended with %.200s: %s", daemon->config.killed_by, rest);
    const struct unseen unseen = {.uid = geteuid(), .gap = FT_GAP_DAEMON_STOPPED, .reason = reason};
    note_unseen(daemon, ft_job_get_private(daemon), &unseen);
}
