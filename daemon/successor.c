// SPDX-License-Identifier: MIT
#include "daemon/successor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/admit.h"
#include "daemon/log.h"
#include "daemon/procfs.h"
#include "daemon/successor_impl.h"
#include "daemon/test_point.h"
#include "daemon/unseen.h"

static bool has_name(const struct ft_successor *successor, const char *name)
{
    for (size_t i = 0; successor && i < successor->stored_count; i++)
        if (strcmp(successor->stored[i].name, name) == 0)
            return true;
    return false;
}

void ft_successor_add(struct ft_daemon *daemon, int fd, const char *name)
{
    struct ft_successor *successor = daemon->successor;
    if (has_name(successor, name)) {
        close(fd); // held twice
        return;
    }
    struct ft_stored stored = {.fd = fd, .name = strdup(name)};
    if (!successor && (successor = calloc(1, sizeof(*successor)))) {
        successor->daemon = daemon;
        daemon->successor = successor;
    }
    struct ft_stored *list =
        successor ? realloc(successor->stored, (successor->stored_count + 1) * sizeof(*list)) : NULL;
    if (list)
        successor->stored = list;
    if (!list || !stored.name || ft_stored_name_parse(name, &stored.id) < 0) {
        ft_log(FT_LOG_WARNING, "%.100s: the service manager gave back something that is none of ours", name);
        ft_store_remove(daemon, name);
        free(stored.name);
        close(fd);
        return;
    }
    list[successor->stored_count++] = stored;
}

// What is no segment by now is known to its process's record alone. A lower max_segment is for who comes then.
static void check_memory(struct ft_successor *successor)
{
    for (size_t i = 0; i < successor->stored_count; i++) {
        struct ft_stored *stored = &successor->stored[i];
        struct stat status;
        struct statx birth;
        if (statx(stored->fd, "", AT_EMPTY_PATH, STATX_BTIME, &birth) == 0 && birth.stx_mask & STATX_BTIME)
            stored->born_ns = birth.stx_btime.tv_sec * INT64_C(1000000000) + birth.stx_btime.tv_nsec;
        if (fstat(stored->fd, &status) == 0 &&
            ft_admit_check_memory(stored->fd, (uint64_t)status.st_size, UINT64_MAX) == 0)
            continue;
        close(stored->fd);
        stored->fd = -1;
    }
}

// Whether the pid is still the one that was stored under this name.
static bool is_same_pid(const struct ft_stored_name *id, const struct ft_process *process, int pidfd)
{
    struct ft_procfs_stat stat;
    uint64_t pidfd_id = pidfd < 0 ? 0 : ft_procfs_pidfd_id(pidfd);
    uint64_t start_time = id->start_time ? id->start_time : atomic_load(&process->start_time);
    if (id->pidfd_id && pidfd_id)
        return id->pidfd_id == pidfd_id;
    if (ft_procfs_stat(id->pid, &stat) < 0)
        return false;
    return start_time ? stat.start_time == start_time : ft_process_may_be(process, stat.start_time);
}

static void find_pidfd(const struct ft_stored_name *id, struct ft_process *process)
{
    int pidfd = ft_procfs_pidfd_open(id->pid);
    if (pidfd != -ESRCH && !is_same_pid(id, process, pidfd)) {
        if (pidfd >= 0)
            close(pidfd);
        pidfd = -ESRCH;
    }
    ft_admit_take_pidfd(process, pidfd);
}

// A process that was stored and is in no file: nobody has read anything of it yet.
static void admit_stored(struct ft_daemon *daemon, struct ft_stored *stored)
{
    const struct ucred peer = {.pid = (pid_t)stored->id.pid, .uid = stored->id.uid, .gid = stored->id.gid};
    struct stat status;
    struct ft_process *process;
    int r = -EBADMSG;
    if (stored->fd >= 0 && fstat(stored->fd, &status) == 0)
        r = ft_admit_create(stored->fd, (uint64_t)status.st_size, &peer, &process);
    if (r == -ENOMEM) {
        ft_admit_note_refused(daemon, &peer, r);
        return;
    }
    if (r < 0) {
        ft_log_limited_about(
            FT_LOG_WARNING, FT_LOG_ABOUT(.message = FT_LOG_REFUSED, FT_LOG_USER(stored->id.uid), .pid = stored->id.pid),
            "process %u (user %u): what was held of it is no segment", stored->id.pid, stored->id.uid);
        ft_status_add(&daemon->status, refused_memory, 1);
        ft_unseen_note_refused(daemon, stored->id.uid, stored->id.pid,
                               "the daemon before was killed, and what was held of it is no segment");
        return;
    }
    process->segment.id = stored->id.segment;
    find_pidfd(&stored->id, process);
    ft_users_take_process(&daemon->users, process->uid);
    r = ft_admit_join(daemon, process, stored->name);
    if (r < 0) {
        ft_admit_note_refused(daemon, &peer, r);
        process->segment.fd = -1;
        ft_users_give_process(&daemon->users, process->uid);
        ft_process_destroy(process);
        return;
    }
    stored->fd = -1;
    stored->name = NULL;
}

// What we do not know of its end. One that was replaced is over for us.
static void see_end(struct ft_process *process)
{
    if (atomic_load(&process->state) != FT_PROCESS_ALIVE || !process->was_dead)
        return;
    ft_process_catch_end(process, FT_PROCESS_ENDED);
    ft_process_note_end(process, FT_PROCESS_ENDED, ft_clock_mono_ns());
}

static void see_end_of_lost(struct ft_process *process)
{
    struct ft_procfs_stat stat;
    uint64_t start_time = atomic_load(&process->start_time);
    bool is_there = ft_procfs_stat(process->pid, &stat) == 0 && stat.state != 'Z' &&
                    (start_time ? stat.start_time == start_time : ft_process_may_be(process, stat.start_time));
    process->was_dead = !is_there;
    if (atomic_load(&process->state) == FT_PROCESS_ALIVE)
        ft_process_note_end(process, FT_PROCESS_ENDED, ft_clock_mono_ns());
}

// Memory that the daemon before us took for it counts on.
static void charge(struct ft_daemon *daemon, struct ft_process *process)
{
    uint64_t bytes = (uint64_t)ft_segment_granted(&process->segment) * FT_CHUNK_BYTES;
    if (bytes && ft_users_keep_bytes(&daemon->users, process->uid, bytes))
        process->quota_bytes += bytes;
}

static void hand_over(struct ft_daemon *daemon, struct ft_process *process, struct ft_stored *stored)
{
    if (process->is_lost) {
        see_end_of_lost(process);
    } else {
        find_pidfd(&stored->id, process);
        see_end(process);
        charge(daemon, process);
        ft_store_note_held(daemon, process, stored->name);
        stored->name = NULL;
    }
    ft_users_take_process(&daemon->users, process->uid);
    ft_daemon_add_process(daemon, process);
    if (process->segment.fd >= 0)
        process->oldest_ns = 1; // whatever waits, waits since long
    ft_job_add(process->job, process);
    if (process->is_lost)
        ft_status_add(&daemon->status, taken_lost, 1);
    else
        ft_status_add(&daemon->status, taken_over, 1);
}

static int by_start(const void *a, const void *b)
{
    const struct ft_process *x = *(struct ft_process *const *)a, *y = *(struct ft_process *const *)b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

// The image before an exec has the counters that its successor began with.
static void join_images(struct ft_successor *successor)
{
    for (size_t i = 0; i < successor->process_count; i++) {
        const struct ft_process *image = successor->processes[i];
        for (size_t k = 0; image->segment_before && k < i; k++) {
            struct ft_process *before = successor->processes[k];
            if (before->segment.id != image->segment_before || before->uid != image->uid)
                continue;
            before->end_counters = image->first_counters;
            if (atomic_load(&before->state) == FT_PROCESS_ALIVE)
                ft_process_note_end(before, FT_PROCESS_REPLACED, image->start_ns);
        }
    }
}

static struct ft_stored *stored_of(struct ft_successor *successor, const struct ft_process *process)
{
    for (size_t i = 0; i < successor->stored_count; i++)
        if (successor->stored[i].process == process)
            return &successor->stored[i];
    return NULL;
}

void ft_successor_take_over(struct ft_daemon *daemon)
{
    struct ft_successor none = {.daemon = daemon}, *successor = daemon->successor ? daemon->successor : &none;
    if (daemon->config.private && !daemon->config.killed_by[0])
        return;
    ft_clock_tick(&daemon->clock, true);
    check_memory(successor);
    for (size_t i = 0; i < successor->stored_count; i++)
        ft_arrivals_see_segment(daemon, successor->stored[i].id.segment);
    ft_successor_read_spool(successor);
    if (successor->process_count)
        qsort(successor->processes, successor->process_count, sizeof(*successor->processes), by_start);
    join_images(successor);
    for (size_t i = 0; i < successor->process_count; i++)
        hand_over(daemon, successor->processes[i], stored_of(successor, successor->processes[i]));
    for (size_t i = 0; i < successor->stored_count; i++)
        if (!successor->stored[i].process && !successor->stored[i].is_done)
            admit_stored(daemon, &successor->stored[i]);
    ft_arrivals_tell_lost(daemon);
    if (daemon->config.private)
        ft_unseen_note_killed(daemon);
    for (size_t i = 0; i < successor->stored_count; i++) {
        struct ft_stored *stored = &successor->stored[i];
        if (stored->name)
            ft_store_remove(daemon, stored->name);
        if (stored->fd >= 0)
            close(stored->fd);
        free(stored->name);
    }
    FT_TEST_POINT(taken_over);
    free(successor->stored);
    free(successor->processes);
    free(daemon->successor);
    daemon->successor = NULL;
}
