// SPDX-License-Identifier: MIT
#include "daemon/answer_with.h"

#include <grp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/daemon.h"

enum { GROUPS_MAX = 1024 };

// Groups of who connected, as they were then.
static bool is_in_group(int fd, const struct ucred *peer, const char *name)
{
    struct group entry, *group = NULL;
    char strings[4096];
    gid_t groups[GROUPS_MAX];
    socklen_t bytes = sizeof(groups);
    if (!*name || getgrnam_r(name, &entry, strings, sizeof(strings), &group) != 0 || !group)
        return false;
    if (peer->gid == group->gr_gid)
        return true;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) < 0)
        return false;
    for (size_t i = 0; i < bytes / sizeof(groups[0]); i++)
        if (groups[i] == group->gr_gid)
            return true;
    return false;
}

bool ft_answer_sees_all(const struct ft_daemon *daemon, int socket_fd, const struct ucred *peer)
{
    return peer->uid == 0 || peer->uid == geteuid() || is_in_group(socket_fd, peer, daemon->config.admin_group);
}

void ft_answer_send_with(int socket_fd, const void *bytes, size_t count, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct iovec from = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = count};
    struct msghdr message = {.msg_iov = &from, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
        struct cmsghdr *part = CMSG_FIRSTHDR(&message);
        *part = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
        memcpy(CMSG_DATA(part), &fd, sizeof(fd));
    }
    (void)!sendmsg(socket_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int make_memory(const ProtobufCMessage *message)
{
    size_t bytes = protobuf_c_message_get_packed_size(message);
    uint8_t *packed = malloc(bytes ? bytes : 1);
    int fd = packed ? memfd_create("flowtap-answer", MFD_CLOEXEC) : -1;
    if (fd >= 0) {
        protobuf_c_message_pack(message, packed);
        for (size_t at = 0; at < bytes && fd >= 0;) {
            ssize_t n = write(fd, packed + at, bytes - at);
            at += n > 0 ? (size_t)n : 0;
            if (n <= 0) {
                close(fd);
                fd = -1;
            }
        }
    }
    free(packed);
    return fd;
}

// An answer is the daemon's memory for as long as somebody holds its descriptor, be it for ever: of those that were sent
// the last few are kept here, and what goes from here is emptied. Who has not read it by then reads less than was said.
enum { SENT_MAX = 64 };
#define SENT_BYTES_MAX (INT64_C(64) << 20)

static struct {
    pthread_mutex_t lock;
    int fds[SENT_MAX];
    int64_t bytes[SENT_MAX], all_bytes;
    unsigned first, count;
} sent = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void keep_sent(int fd, int64_t bytes)
{
    pthread_mutex_lock(&sent.lock);
    while (sent.count && (sent.count == SENT_MAX || sent.all_bytes + bytes > SENT_BYTES_MAX)) {
        (void)!ftruncate(sent.fds[sent.first], 0);
        close(sent.fds[sent.first]);
        sent.all_bytes -= sent.bytes[sent.first];
        sent.first = (sent.first + 1) % SENT_MAX;
        sent.count--;
    }
    unsigned at = (sent.first + sent.count++) % SENT_MAX;
    sent.fds[at] = fd;
    sent.bytes[at] = bytes;
    sent.all_bytes += bytes;
    pthread_mutex_unlock(&sent.lock);
}

void ft_answer_send_memory(int socket_fd, const ProtobufCMessage *message, uint64_t count)
{
    int fd = make_memory(message);
    if (fd < 0)
        return;
    ft_answer_send_with(socket_fd, &count, sizeof(count), fd);
    keep_sent(fd, (int64_t)protobuf_c_message_get_packed_size(message));
}
