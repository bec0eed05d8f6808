// SPDX-License-Identifier: MIT
#include "client/cli/daemon_ask.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "proto/ring.h"

const char *ft_ask_socket_path(const char *given)
{
    const char *path = given ? given : getenv("FLOWTAP_SOCKET");
    return path && path[0] ? path : FT_SOCKET_DEFAULT;
}

int ft_ask_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= FT_SOCKET_PATH_MAX) {
        return -ENAMETOOLONG;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int error = errno == EAGAIN ? ETIMEDOUT : errno; /* its queue is full: it has not looked for long */
        close(fd);
        return -error;
    }
    return fd;
}

/* The reply's descriptor, the first one; others are closed. */
static int take_descriptor(struct msghdr *message)
{
    int taken = -1, fd;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        for (size_t at = 0; at + sizeof(fd) <= part->cmsg_len - CMSG_LEN(0); at += sizeof(fd)) {
            memcpy(&fd, CMSG_DATA(part) + at, sizeof(fd));
            if (taken < 0) {
                taken = fd;
            } else {
                close(fd);
            }
        }
    }
    return taken;
}

static int refusal_error(const struct ft_refusal *refusal)
{
    switch (refusal->reason) {
    case FT_REFUSAL_QUESTIONS:
        return -EBUSY;
    case FT_REFUSAL_CONNECTIONS:
        return -EUSERS;
    case FT_REFUSAL_RESOURCES:
        return -ENOBUFS;
    case FT_REFUSAL_PRIVATE:
        return -EOPNOTSUPP;
    case FT_REFUSAL_NOTHING:
        return -ENODATA;
    default:
        return -EBADMSG;
    }
}

bool ft_ask_is_passing(int error)
{
    return error == -EBUSY || error == -EUSERS || error == -ENOBUFS;
}

/* One message, waited for, and its descriptor, or -1: its length or -errno. */
static ssize_t receive(int connection, uint8_t *bytes, size_t room, int *fd)
{
    union {
        char bytes[CMSG_SPACE(4 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec into = {.iov_base = bytes, .iov_len = room};
    struct msghdr message = {
        .msg_iov = &into, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    struct pollfd watch = {.fd = connection, .events = POLLIN};
    int ready = poll(&watch, 1, FT_ASK_TIMEOUT_MS);
    if (ready <= 0) {
        return ready < 0 ? -errno : -ETIMEDOUT;
    }
    ssize_t n = recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == ECONNRESET) { /* it did not read the question, and may have said why */
        n = recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    }
    if (n <= 0) {
        return -ECONNRESET;
    }
    *fd = take_descriptor(&message);
    return n;
}

/* The length of the reply to one question, and its descriptor, or -1; else -errno. */
static ssize_t ask_over(int connection, const struct ft_attach *question, uint8_t *bytes, size_t room, int *fd)
{
    struct ft_refusal refusal;
    *fd = -1;
    if (send(connection, question, sizeof(*question), MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET) {
        return -errno;
    }
    ssize_t n = receive(connection, bytes, room, fd);
    if (n == (ssize_t)sizeof(refusal) && *fd < 0) {
        memcpy(&refusal, bytes, sizeof(refusal));
        return refusal.magic == FT_REFUSAL_MAGIC ? refusal_error(&refusal) : n;
    }
    return n;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

ssize_t ft_ask_with_fd(const char *path, const struct ft_attach *question, uint8_t *bytes, size_t room, int *fd)
{
    int64_t until_ms = now_ms() + FT_ASK_AGAIN_MS;
    for (int64_t pause_ms = 10;; pause_ms = pause_ms < 200 ? pause_ms * 2 : pause_ms) {
        int connection = ft_ask_connect(path);
        *fd = -1;
        if (connection < 0) {
            return connection;
        }
        ssize_t n = ask_over(connection, question, bytes, room, fd);
        close(connection);
        if (!ft_ask_is_passing((int)n) || now_ms() + pause_ms > until_ms) {
            return n;
        }
        poll(NULL, 0, (int)pause_ms);
    }
}

struct ft_attach ft_ask_question(enum ft_message kind)
{
    return (struct ft_attach){
        .magic = FT_ATTACH_MAGIC, .kind = kind, .abi_major = FT_RING_ABI_MAJOR, .abi_minor = FT_RING_ABI_MINOR};
}

static void *allocate(void *unused, size_t bytes)
{
    (void)unused;
    return ft_cli_alloc(bytes);
}

static void release(void *unused, void *memory)
{
    (void)unused;
    free(memory);
}

int ft_ask_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t count, ProtobufCMessage **reply)
{
    ProtobufCAllocator allocator = {.alloc = allocate, .free = release};
    *reply = protobuf_c_message_unpack(type, &allocator, count, bytes);
    return *reply ? 0 : -EBADMSG;
}

/* 0 and *reply of a question about the daemon itself, over a connection that is there (`path` NULL), or one of its own. */
static int ask_about(int connection, const char *path, enum ft_message kind, const ProtobufCMessageDescriptor *type,
                     ProtobufCMessage **reply)
{
    const struct ft_attach question = ft_ask_question(kind);
    uint8_t *bytes = ft_cli_alloc(FT_STATUS_BYTES_MAX);
    int fd;
    ssize_t n = path ? ft_ask_with_fd(path, &question, bytes, FT_STATUS_BYTES_MAX, &fd)
                     : ask_over(connection, &question, bytes, FT_STATUS_BYTES_MAX, &fd);
    int error = n < 0 ? (int)n : ft_ask_unpack(type, bytes, (size_t)n, reply);
    free(bytes);
    if (fd >= 0) {
        close(fd);
    }
    return error;
}

int ft_ask_status_over(int fd, Flowtap__Status **status)
{
    ProtobufCMessage *reply = NULL;
    int error = ask_about(fd, NULL, FT_MESSAGE_STATUS, &flowtap__status__descriptor, &reply);
    *status = (Flowtap__Status *)(void *)reply;
    return error;
}

int ft_ask_status(const char *path, Flowtap__Status **status)
{
    ProtobufCMessage *reply = NULL;
    int error = ask_about(-1, path, FT_MESSAGE_STATUS, &flowtap__status__descriptor, &reply);
    *status = (Flowtap__Status *)(void *)reply;
    return error;
}

int ft_ask_config(const char *path, Flowtap__Config **config)
{
    ProtobufCMessage *reply = NULL;
    int error = ask_about(-1, path, FT_MESSAGE_CONFIG, &flowtap__config__descriptor, &reply);
    *config = (Flowtap__Config *)(void *)reply;
    return error;
}

static int read_memory(int fd, const ProtobufCMessageDescriptor *type, ProtobufCMessage **reply)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size < 0 ||
        status.st_size > FT_ASK_MEMORY_MAX) {
        return -EBADMSG;
    }
    size_t bytes = (size_t)status.st_size, used = 0;
    uint8_t *packed = ft_cli_alloc(bytes + 1);
    while (used < bytes) {
        ssize_t n = pread(fd, packed + used, bytes - used, (off_t)used);
        if (n <= 0) {
            break;
        }
        used += (size_t)n;
    }
    int error = used == bytes ? ft_ask_unpack(type, packed, bytes, reply) : -EBADMSG;
    free(packed);
    return error;
}

int ft_ask_memory(const char *path, const struct ft_attach *question, const ProtobufCMessageDescriptor *type,
                  ProtobufCMessage **reply)
{
    uint8_t count[8];
    int fd;
    ssize_t n = ft_ask_with_fd(path, question, count, sizeof(count), &fd);
    *reply = NULL;
    int error = n < 0 ? (int)n : read_memory(fd, type, reply);
    if (fd >= 0) {
        close(fd);
    }
    return error;
}

const char *ft_ask_explain(int error)
{
    switch (-error) {
    case ENAMETOOLONG:
        return "the path is too long for a socket; give a shorter one";
    case ENOENT:
        return "there is no such socket: no daemon serves here; start flowtapd, or use `flowtap run`, which needs none";
    case ECONNREFUSED:
        return "nobody listens: the daemon has ended; start flowtapd again";
    case EACCES:
    case EPERM:
        return "may not be connected to; it is somebody's own";
    case ETIMEDOUT:
        return "the daemon does not answer: is it stopped?";
    case EPROTOTYPE:
        return "is another kind of socket, not a flowtapd's";
    case EBUSY:
        return "does not answer this now: too many questions are asked at a time (max_questions); ask again";
    case EUSERS:
        return "does not answer this now: too many have connected and sent nothing (max_connections); ask again";
    case ENOBUFS:
        return "cannot answer this: it lacks memory or descriptors; ask again, and see its log";
    case EOPNOTSUPP:
        return "serves one command of `flowtap run` alone, and knows of no jobs";
    case ENODATA:
        return "has no files of this job: they are gone, there is none yet, or they are another user's";
    case ECONNRESET:
        return "ended the connection without an answer: it has ended, or is older than this flowtap; ask again";
    case EBADMSG:
        return "does not answer as a flowtapd of this version does";
    default:
        return strerror(-error);
    }
}
