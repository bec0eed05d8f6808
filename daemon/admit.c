// SPDX-License-Identifier: MIT
#include "daemon/admit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "daemon/answer.h"
#include "daemon/answer_jobs.h"
#include "daemon/answer_top.h"
#include "daemon/client.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/mode.h"
#include "daemon/procfs.h"
#include "daemon/refusal.h"
#include "daemon/stored_name.h"
#include "daemon/test_point.h"
#include "daemon/unseen.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW)
// With these neither can its words be written nor the memory that we gave be taken back. glibc may not know the second.
#define SEALS_AGAINST_US (F_SEAL_WRITE | 0x10 /* F_SEAL_FUTURE_WRITE */)
#define DESCRIPTORS_KEPT 48

int ft_admit_check_memory(int fd, uint64_t bytes, uint64_t bytes_max)
{
    struct stat status;
    struct statfs fs;
    int seals = fcntl(fd, F_GET_SEALS), flags = fcntl(fd, F_GETFL);
    if (seals < 0 || (seals & (SEALS | SEALS_AGAINST_US)) != SEALS || flags < 0 || (flags & O_ACCMODE) != O_RDWR)
        return -EBADMSG;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || (uint64_t)status.st_size != bytes ||
        bytes < FT_SEGMENT_BYTES_MIN)
        return -EBADMSG;
    // Huge pages would be taken by our fallocate in steps of 2 MiB and more.
    if (fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
        return -EBADMSG;
    return bytes > bytes_max ? -EFBIG : 0;
}

int ft_admit_create(int fd, uint64_t bytes, const struct ucred *peer, struct ft_process **out)
{
    struct ft_process *process = calloc(1, sizeof(*process));
    if (!process)
        return -ENOMEM;
    process->pid = (uint32_t)peer->pid;
    process->uid = peer->uid;
    process->gid = peer->gid;
    process->pidfd = -1;
    process->end_status = -1;
    process->segment.fd = -1;
    process->store_fd = -1;
    ft_names_init(&process->names);
    int r = ft_segment_open(&process->segment, fd, bytes);
    if (r == 0)
        r = ft_process_read_hello(process);
    if (r < 0) {
        process->segment.fd = -1; // the caller's
        ft_process_destroy(process);
        return r == -ENOMEM ? r : -EBADMSG;
    }
    *out = process;
    return 0;
}

void ft_admit_take_pidfd(struct ft_process *process, int pidfd)
{
    process->pidfd = pidfd;
    if (process->pidfd == -ENOPROTOOPT && process->pid) {
        struct ft_procfs_stat stat;
        process->pidfd = ft_procfs_pidfd_open(process->pid);
        // The pid may be another's by now: then its start is not the one that Hello tells.
        bool is_other = process->pidfd >= 0 && process->start_time &&
                        (ft_procfs_stat(process->pid, &stat) < 0 || stat.start_time != process->start_time);
        if (is_other) {
            close(process->pidfd);
            process->pidfd = -ESRCH;
        }
    }
    bool is_gone = process->pidfd < 0 && process->pidfd != -ENOSYS;
    process->pidfd = process->pidfd < 0 ? -1 : process->pidfd;
    if (process->pidfd >= 0)
        process->pidfd_id = ft_procfs_pidfd_id(process->pidfd);
    process->was_dead = is_gone || (process->pidfd >= 0 && ft_procfs_has_ended(process->pidfd));
}

// What is only to be had of one that has ended.
static void catch_end(struct ft_process *process)
{
    if (!process->was_dead)
        return;
    ft_process_catch_end(process, FT_PROCESS_ENDED);
    ft_process_note_end(process, FT_PROCESS_ENDED, ft_clock_mono_ns());
}

// Whether two images of one pid are of one process: by the kernel's identity of the pid, else by when it was made.
static bool is_same_process(const struct ft_process *before, const struct ft_process *process)
{
    if (process->pidfd_id && before->pidfd_id)
        return process->pidfd_id == before->pidfd_id;
    if (process->start_time && before->start_time)
        return process->start_time == before->start_time;
    return atomic_load(&before->state) == FT_PROCESS_ALIVE;
}

// The image that this pid was before, NULL where there is none.
static struct ft_process *find_image_before(const struct ft_daemon *daemon, const struct ft_process *process)
{
    struct ft_process *before = process->pid ? ft_daemon_find_process(daemon, process->pid) : NULL;
    bool is_one = before && process->image == FT_IMAGE_EXEC && process->start_ns >= before->start_ns &&
                  is_same_process(before, process);
    return is_one ? before : NULL;
}

// It is over, and what its pid did until now is its own.
static void replace_image(struct ft_daemon *daemon, struct ft_process *before, const struct ft_process *process)
{
    int state = atomic_load(&before->state);
    if (state == FT_PROCESS_REPLACED)
        return;
    before->end_counters = process->first_counters;
    if (process->has_done_all) // its last image stands for all of the pid
        before->end_counters = (struct ft_process_counters){.is_known = true};
    if (state == FT_PROCESS_ENDED) // all of it was over before the first image was admitted
        ft_process_note_end(before, FT_PROCESS_REPLACED, process->start_ns);
    else
        ft_daemon_note_end(daemon, before, FT_PROCESS_REPLACED, process->start_ns);
}

// The process that made this one, or what it was before an exec; only one of its own user's. NULL where none is known.
static const struct ft_process *find_relative(const struct ft_daemon *daemon, const struct ft_process *process,
                                              const struct ft_process *before)
{
    const struct ft_process *relative = before ? before : ft_daemon_find_process(daemon, process->parent_pid);
    return relative && relative->uid == process->uid ? relative : NULL;
}

// Each process holds up to three descriptors (one waits to be stored) until all of it is written, and that takes some more, for files and /proc: a daemon
// that gave away its last could never write what frees them.
static bool has_descriptors(const struct ft_daemon *daemon)
{
    struct rlimit limit;
    uint64_t used = (uint64_t)daemon->process_count * 3 + daemon->job_count + daemon->listener.peers.count;
    return getrlimit(RLIMIT_NOFILE, &limit) < 0 || used + DESCRIPTORS_KEPT <= limit.rlim_cur;
}

#define NO_DESCRIPTOR "the daemon had no descriptor left for it (its limit of open files)"

// Why no process of the user is taken now; NULL: it is taken, and counted.
static const char *why_unwelcome(struct ft_daemon *daemon, uint32_t uid)
{
    if (!has_descriptors(daemon)) {
        ft_log_limited_about(FT_LOG_ERR, FT_LOG_ABOUT(.message = FT_LOG_REFUSED, FT_LOG_USER(uid)),
                             "no descriptors left: processes are not traced; raise the limit of open files");
        ft_status_add(&daemon->status, refused_own, 1);
        return NO_DESCRIPTOR;
    }
    if (daemon->process_count >= (uint64_t)daemon->config.max_processes ||
        !ft_users_take_process(&daemon->users, uid)) {
        ft_log_limited_about(FT_LOG_WARNING, FT_LOG_ABOUT(.message = FT_LOG_REFUSED, FT_LOG_USER(uid)),
                             "user %u: too many processes attached; more are not traced: raise max_processes or "
                             "max_processes_per_user",
                             uid);
        ft_status_add(&daemon->status, refused_limit, 1);
        return "over the daemon's limit of processes";
    }
    return NULL;
}

// A process sends each segment once; one that came twice would be counted twice.
static bool is_here_already(const struct ft_daemon *daemon, const struct ft_process *process)
{
    for (const struct ft_process *other = ft_daemon_find_process(daemon, process->pid); other;
         other = other->next_of_pid)
        if (other->pid == process->pid && other->segment.id == process->segment.id)
            return true;
    return false;
}

// From here on a file may tell of it.
static void note_arrival(struct ft_daemon *daemon, const struct ft_process *process)
{
    char folder[FT_IDENTITY_JOB_MAX + 1];
    ft_storage_job_folder(process->job, folder, sizeof(folder));
    ft_arrivals_note_segment(daemon, process->arrival, process->segment.id, ft_stored_name_folder(folder));
}

int ft_admit_join(struct ft_daemon *daemon, struct ft_process *process, char *stored_name)
{
    catch_end(process);
    ft_process_check_start(process, &daemon->clock);
    struct ft_process *before = find_image_before(daemon, process);
    if (before) {
        process->is_exec = true;
        process->has_done_all = process->end_counters.is_known;
        process->segment_before = before->segment.id;
        process->parent_pid = before->parent_pid;
    }
    const struct ft_process *relative = find_relative(daemon, process, before);
    if (!before)
        ft_process_note_parent(process, relative, daemon->config.private);
    ft_process_identify(process, relative, daemon->config.private);
    process->mode = ft_mode_of_process(daemon, process);
    struct ft_job *job;
    int r = ft_job_get(daemon, process, stored_name, &job);
    if (r < 0)
        return r;
    if (before)
        replace_image(daemon, before, process);
    ft_daemon_add_process(daemon, process);
    process->job = job;
    note_arrival(daemon, process);
    FT_TEST_POINT(joined);
    if (stored_name)
        ft_store_note_held(daemon, process, stored_name);
    else
        ft_store_note_admitted(daemon, process);
    ft_job_add(job, process);
    ft_status_add(&daemon->status, attached, 1);
    return 0;
}

static int admit_segment(struct ft_daemon *daemon, int socket_fd, const struct ft_admit_message *message,
                         const struct ucred *peer, uint32_t arrival)
{
    uint64_t bytes_max = (uint64_t)daemon->config.max_segment_bytes;
    FT_TEST_POINT(received);
    struct ft_process *process;
    int r = ft_admit_check_memory(message->fd, message->attach.segment_bytes, bytes_max);
    if (r == 0)
        r = ft_admit_create(message->fd, message->attach.segment_bytes, peer, &process);
    if (r < 0)
        return r;
    process->arrival = arrival;
    r = is_here_already(daemon, process) ? -EEXIST : 0;
    if (r == 0) {
        ft_admit_take_pidfd(process, ft_procfs_peer_pidfd(socket_fd));
        r = ft_admit_join(daemon, process, NULL);
    }
    if (r < 0) {
        process->segment.fd = -1; // the caller's
        ft_process_destroy(process);
    }
    return r;
}

void ft_admit_note_refused(struct ft_daemon *daemon, const struct ucred *peer, int error)
{
    const char *reason = error == -EBADMSG || error == -EEXIST ? "what it sent is no segment that the daemon takes"
                         : error == -EFBIG                     ? "its segment is larger than max_segment"
                         : error == -EMFILE                    ? NO_DESCRIPTOR
                         : error == -ENOMEM                    ? "the daemon had no memory for another process"
                                                               : "the daemon had no room for another job or process";
    ft_unseen_note_refused(daemon, peer->uid, (uint32_t)peer->pid, reason);
    ft_log_limited_about(FT_LOG_WARNING,
                         FT_LOG_ABOUT(.message = FT_LOG_REFUSED, FT_LOG_USER(peer->uid), .pid = (uint32_t)peer->pid),
                         "process %d (user %u): not admitted: %s", (int)peer->pid, peer->uid,
                         error == -EBADMSG  ? "what it sent is no segment"
                         : error == -EFBIG  ? "its segment is larger than max_segment: raise it"
                         : error == -EUSERS ? "no room for another job: raise max_jobs or max_jobs_per_user"
                                            : strerror(-error));
    if (error == -EBADMSG || error == -EEXIST)
        ft_status_add(&daemon->status, refused_memory, 1);
    else if (error == -EUSERS || error == -EFBIG)
        ft_status_add(&daemon->status, refused_limit, 1);
    else
        ft_status_add(&daemon->status, refused_own, 1);
}

// As ft_admit(); 1: a process was admitted.
static int take_message(struct ft_daemon *daemon, int socket_fd, uint32_t arrival, const struct ft_client *client)
{
    struct ft_admit_message message;
    struct ucred peer;
    socklen_t bytes = sizeof(peer);
    int r = ft_admit_receive(socket_fd, &message);
    if (r == -EAGAIN)
        return r;
    bool is_known = getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0;
    if (is_known && r == -EMFILE) {
        ft_admit_note_refused(daemon, &peer, r);
        ft_refusal_send(socket_fd, FT_REFUSAL_RESOURCES);
        return 0;
    }
    if (r == -ENODATA && is_known && client->is_program) {
        ft_unseen_note_silent(daemon, peer.uid, (uint32_t)peer.pid, client);
        return 0;
    }
    if (r == -EPROTO && is_known)
        ft_unseen_note_refused(daemon, peer.uid, (uint32_t)peer.pid, "its library is of another version");
    if (r < 0 || !is_known) {
        ft_refusal_send(socket_fd, FT_REFUSAL_UNKNOWN);
        ft_log_limited(FT_LOG_WARNING, "a client's message is no attach message of version %u", FT_RING_ABI_MAJOR);
        ft_status_add(&daemon->status, refused_message, 1);
        return 0;
    }
    if (message.attach.kind == FT_MESSAGE_JOBS || message.attach.kind == FT_MESSAGE_FETCH) {
        ft_answer_jobs(daemon, socket_fd, &peer, &message.attach);
        return 0;
    }
    if (message.attach.kind == FT_MESSAGE_TOP) {
        ft_answer_top(daemon, socket_fd, &peer, &message.attach);
        return 0;
    }
    if (message.attach.kind == FT_MESSAGE_STATUS || message.attach.kind == FT_MESSAGE_CONFIG) {
        ft_arrivals_forget(daemon, arrival); // it is no process that could be lost
        ft_answer(daemon, socket_fd, peer.uid, (enum ft_message)message.attach.kind);
        return 0;
    }
    if (ft_mode_of_user(daemon, peer.uid) == FT_MODE_OFF) {
        close(message.fd);
        return 0;
    }
    const char *why = why_unwelcome(daemon, peer.uid);
    if (why) {
        close(message.fd);
        ft_unseen_note_refused(daemon, peer.uid, (uint32_t)peer.pid, why);
        return 0;
    }
    r = admit_segment(daemon, socket_fd, &message, &peer, arrival);
    if (r == 0)
        return 1;
    close(message.fd);
    ft_users_give_process(&daemon->users, peer.uid);
    ft_admit_note_refused(daemon, &peer, r);
    return 0;
}

int ft_admit(struct ft_daemon *daemon, int socket_fd, uint32_t arrival, const struct ft_client *client)
{
    int r = take_message(daemon, socket_fd, arrival, client);
    if (r == 0)
        ft_arrivals_forget(daemon, arrival);
    return r < 0 ? r : 0;
}
