// SPDX-License-Identifier: MIT
#include "daemon/answer_with.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/question.h"

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

// An answer is the daemon's memory for as long as somebody holds its descriptor, be it for ever: of those that were sent
// the last few are kept here, and what goes from here is emptied. Who has not read it by then reads less than was said:
// that is the oldest of the user who has most, so that who asks and asks empties his own. Room is made before an answer
// is, and one is made at a time, so that never more is held than this.
enum { SENT_MAX = 64 };
#define SENT_BYTES_MAX (INT64_C(64) << 20)

struct sent {
    int fd;
    uint32_t uid;
    int64_t bytes;
};

static struct {
    pthread_mutex_t lock;
    struct sent items[SENT_MAX]; // oldest first
    unsigned count;
    int64_t all_bytes;
} sent = {.lock = PTHREAD_MUTEX_INITIALIZER};

// How much of both limits a user has.
static int64_t share_of(uint32_t uid)
{
    int64_t share = 0;
    for (unsigned i = 0; i < sent.count; i++)
        share += sent.items[i].uid == uid ? sent.items[i].bytes + SENT_BYTES_MAX / SENT_MAX : 0;
    return share;
}

// Under the lock, as what follows.
static void empty_one(void)
{
    unsigned victim = 0;
    for (unsigned i = 1; i < sent.count; i++)
        if (share_of(sent.items[i].uid) > share_of(sent.items[victim].uid))
            victim = i;
    struct sent *one = &sent.items[victim];
    (void)!ftruncate(one->fd, 0);
    close(one->fd);
    sent.all_bytes -= one->bytes;
    memmove(one, one + 1, (--sent.count - victim) * sizeof(*one));
}

static void make_room(int64_t bytes)
{
    while (sent.count && (sent.count == SENT_MAX || sent.all_bytes + bytes > SENT_BYTES_MAX))
        empty_one();
}

// Packs into a file through a little memory, not a copy of all of it.
struct file_buffer {
    ProtobufCBuffer base;
    int fd, error;
    size_t used;
    uint8_t bytes[1 << 16];
};

static void flush_file(struct file_buffer *file)
{
    for (size_t at = 0; at < file->used && !file->error;) {
        ssize_t n = write(file->fd, file->bytes + at, file->used - at);
        at += n > 0 ? (size_t)n : 0;
        file->error = n < 0 ? -errno : n == 0 ? -EIO : 0;
    }
    file->used = 0;
}

static void append_to_file(ProtobufCBuffer *buffer, size_t count, const uint8_t *bytes)
{
    struct file_buffer *file = (struct file_buffer *)buffer;
    while (count) {
        size_t room = sizeof(file->bytes) - file->used, part = count < room ? count : room;
        memcpy(file->bytes + file->used, bytes, part);
        file->used += part;
        bytes += part;
        count -= part;
        if (file->used == sizeof(file->bytes))
            flush_file(file);
    }
}

// Its descriptor or -errno.
static int make_memory(const ProtobufCMessage *message)
{
    struct file_buffer file = {.base.append = append_to_file, .fd = memfd_create("flowtap-answer", MFD_CLOEXEC)};
    if (file.fd < 0)
        return -errno;
    protobuf_c_message_pack_to_buffer(message, &file.base);
    flush_file(&file);
    if (!file.error)
        return file.fd;
    close(file.fd);
    return file.error;
}

static int send_memory(const struct ft_question *question, const ProtobufCMessage *message, uint64_t count)
{
    size_t bytes = protobuf_c_message_get_packed_size(message);
    if (bytes > SENT_BYTES_MAX)
        return -EFBIG;
    make_room((int64_t)bytes);
    int fd = make_memory(message);
    if (fd < 0)
        return fd;
    ft_answer_send_with(question->fd, &count, sizeof(count), fd);
    sent.items[sent.count++] = (struct sent){.fd = fd, .uid = question->peer.uid, .bytes = (int64_t)bytes};
    sent.all_bytes += (int64_t)bytes;
    return 0;
}

void ft_answer_send_memory(struct ft_question *question, const ProtobufCMessage *message, uint64_t count)
{
    pthread_mutex_lock(&sent.lock);
    int r = send_memory(question, message, count);
    pthread_mutex_unlock(&sent.lock);
    if (r < 0)
        ft_question_note_unanswered(question->daemon, question->fd, question->peer.uid, -r);
}
