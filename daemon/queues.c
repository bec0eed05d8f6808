// SPDX-License-Identifier: MIT
#include "daemon/queues.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/block.h"
#include "daemon/daemon.h"

void ft_queues_note(struct ft_job *job)
{
    uint64_t segments = 0, events = 0, most = (uint64_t)job->daemon->config.block_events;
    size_t bytes = 0;
    for (const struct ft_process *process = job->processes; process; process = process->next) {
        uint64_t waiting = process->oldest_ns ? ft_block_waiting(process) : 0;
        segments += waiting > 0;
        events += waiting;
    }
    if (job->storage.writer)
        ft_trace_writer_data(job->storage.writer, &bytes);
    atomic_store(&job->queues.segments, segments);
    atomic_store(&job->queues.events, events);
    atomic_store(&job->queues.blocks, (events + most - 1) / most);
    atomic_store(&job->queues.bytes, (uint64_t)bytes);
}

struct ft_queues_sum ft_queues_add_up(const struct ft_daemon *daemon)
{
    struct ft_queues_sum sum = {0};
    for (const struct ft_job *job = daemon->jobs; job; job = job->next) {
        sum.segments += atomic_load(&job->queues.segments);
        sum.events += atomic_load(&job->queues.events);
        sum.blocks += atomic_load(&job->queues.blocks);
        sum.bytes += atomic_load(&job->queues.bytes);
        sum.jobs_busy += job->is_running;
    }
    return sum;
}

struct request {
    struct nlmsghdr head;
    struct unix_diag_req body;
};

// What an answer about one socket says of its queue (sock_diag(7)).
static int parse_answer(const uint8_t *bytes, size_t count, uint32_t *out)
{
    struct nlmsghdr head;
    size_t at = sizeof(head) + NLMSG_ALIGN(sizeof(struct unix_diag_msg));
    if (count < at)
        return -EBADMSG;
    memcpy(&head, bytes, sizeof(head));
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || head.nlmsg_len < at || head.nlmsg_len > count)
        return -EBADMSG;
    while (head.nlmsg_len - at >= sizeof(struct nlattr)) {
        struct nlattr attribute;
        struct unix_diag_rqlen queue;
        memcpy(&attribute, bytes + at, sizeof(attribute));
        if (attribute.nla_len < sizeof(attribute) || attribute.nla_len > head.nlmsg_len - at)
            return -EBADMSG;
        if (attribute.nla_type == UNIX_DIAG_RQLEN && attribute.nla_len >= sizeof(attribute) + sizeof(queue)) {
            memcpy(&queue, bytes + at + sizeof(attribute), sizeof(queue));
            *out = queue.udiag_rqueue;
            return 0;
        }
        size_t step = (size_t)NLA_ALIGN(attribute.nla_len);
        if (step > head.nlmsg_len - at)
            break;
        at += step;
    }
    return -EBADMSG;
}

int ft_queues_connections_by_netlink(int socket_fd, uint32_t *count)
{
    struct stat status;
    if (fstat(socket_fd, &status) < 0)
        return -errno;
    const struct request request = {
        .head = {.nlmsg_len = sizeof(request), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = AF_UNIX,
                 .udiag_states = UINT32_MAX,
                 .udiag_ino = (uint32_t)status.st_ino,
                 .udiag_show = UDIAG_SHOW_RQLEN,
                 .udiag_cookie = {UINT32_MAX, UINT32_MAX}}};
    uint8_t answer[1024];
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return -errno;
    // The kernel answers before send returns.
    ssize_t n = send(fd, &request, sizeof(request), 0);
    n = n < 0 ? n : recv(fd, answer, sizeof(answer), 0);
    int r = n < 0 ? -errno : parse_answer(answer, (size_t)n, count);
    close(fd);
    return r;
}

int ft_queues_connections_by_descriptors(int socket_fd, uint32_t *count)
{
    char path[64], line[256];
    int r = -ENODATA;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", socket_fd);
    FILE *file = socket_fd < 0 ? NULL : fopen(path, "re");
    if (!file)
        return socket_fd < 0 ? -EBADF : -errno;
    // Of a socket that listens it is the sum over its queue.
    while (r < 0 && fgets(line, sizeof(line), file))
        if (sscanf(line, "scm_fds: %" SCNu32, count) == 1)
            r = 0;
    fclose(file);
    return r;
}

int ft_queues_connections(int socket_fd, uint32_t *count)
{
    int r = ft_queues_connections_by_netlink(socket_fd, count);
    return r < 0 ? ft_queues_connections_by_descriptors(socket_fd, count) : r;
}
