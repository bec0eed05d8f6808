// SPDX-License-Identifier: MIT
#include "daemon/unseen.h"

#include <stdio.h>
#include <unistd.h>

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

// `job`: where it is known.
static void note_unseen(struct ft_daemon *daemon, struct ft_job *job, uint32_t uid, uint32_t pid, enum ft_gap gap,
                        const char *reason)
{
    job = job ? job : ft_job_find(daemon, NULL, uid);
    job = job ? job : job_of_stranger(daemon, uid, pid);
    if (!job)
        return;
    ft_attached_note(&daemon->attached, pid, ft_clock_mono_ns()); // of its start nothing more is told: it is a gap once
    pthread_mutex_lock(&job->lock);
    ft_refused_add(&job->refused, pid, gap, reason);
    int64_t due_ns = ft_refused_due_ns(&job->refused);
    pthread_mutex_unlock(&job->lock);
    int64_t soon_ns = ft_clock_mono_ns() + daemon->config.poll_busy_ns;
    ft_job_wake(job, due_ns > soon_ns ? due_ns : soon_ns);
}

void ft_unseen_note_refused(struct ft_daemon *daemon, uint32_t uid, uint32_t pid, const char *reason)
{
    note_unseen(daemon, NULL, uid, pid, FT_GAP_NOT_ADMITTED, reason);
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
    note_unseen(daemon, found, uid, pid, FT_GAP_DAEMON_STOPPED,
                "the daemon was killed when the process had attached and nobody held its memory yet");
}

void ft_unseen_note_killed(struct ft_daemon *daemon)
{
    static char reason[320]; // of the one private job
    const char *rest = "what it had not written, and what started before the next one listened, is lost";
    snprintf(reason, sizeof(reason), "flowtapd ended with %.200s: %s", daemon->config.killed_by, rest);
    note_unseen(daemon, ft_job_get_private(daemon), geteuid(), 0, FT_GAP_DAEMON_STOPPED, reason);
}
