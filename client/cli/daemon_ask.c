// SPDX-License-Identifier: MIT
#include "client/cli/daemon_ask.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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

/* One message, waited for; its length or -errno. */
static ssize_t receive(int fd, uint8_t *bytes, size_t room)
{
    struct pollfd watch = {.fd = fd, .events = POLLIN};
    int ready = poll(&watch, 1, FT_ASK_TIMEOUT_MS);
    if (ready < 0) {
        return -errno;
    }
    ssize_t n = ready > 0 ? recv(fd, bytes, room, MSG_DONTWAIT) : -1;
    if (ready == 0) {
        return -ETIMEDOUT;
    }
    return n > 0 ? n : -EBADMSG;
}

struct ft_attach ft_ask_question(enum ft_message kind)
{
    return (struct ft_attach){
        .magic = FT_ATTACH_MAGIC, .kind = kind, .abi_major = FT_RING_ABI_MAJOR, .abi_minor = FT_RING_ABI_MINOR};
}

/* 0 and the reply, or -errno. */
static int ask_over(int fd, enum ft_message kind, const ProtobufCMessageDescriptor *type, ProtobufCMessage **reply)
{
    const struct ft_attach question = ft_ask_question(kind);
    uint8_t *bytes = ft_cli_alloc(FT_STATUS_BYTES_MAX);
    ssize_t n = send(fd, &question, sizeof(question), MSG_NOSIGNAL);
    n = n < 0 ? -errno : receive(fd, bytes, FT_STATUS_BYTES_MAX);
    *reply = n > 0 ? protobuf_c_message_unpack(type, NULL, (size_t)n, bytes) : NULL;
    free(bytes);
    if (n < 0) {
        return (int)n;
    }
    return *reply ? 0 : -EBADMSG;
}

static int ask(const char *path, enum ft_message kind, const ProtobufCMessageDescriptor *type, ProtobufCMessage **reply)
{
    int fd = ft_ask_connect(path);
    if (fd < 0) {
        return fd;
    }
    int error = ask_over(fd, kind, type, reply);
    close(fd);
    return error;
}

int ft_ask_status_over(int fd, Flowtap__Status **status)
{
    ProtobufCMessage *reply = NULL;
    int error = ask_over(fd, FT_MESSAGE_STATUS, &flowtap__status__descriptor, &reply);
    *status = (Flowtap__Status *)(void *)reply;
    return error;
}

int ft_ask_status(const char *path, Flowtap__Status **status)
{
    ProtobufCMessage *reply = NULL;
    int error = ask(path, FT_MESSAGE_STATUS, &flowtap__status__descriptor, &reply);
    *status = (Flowtap__Status *)(void *)reply;
    return error;
}

int ft_ask_config(const char *path, Flowtap__Config **config)
{
    ProtobufCMessage *reply = NULL;
    int error = ask(path, FT_MESSAGE_CONFIG, &flowtap__config__descriptor, &reply);
    *config = (Flowtap__Config *)(void *)reply;
    return error;
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

ssize_t ft_ask_with_fd(const char *path, const struct ft_attach *question, uint8_t *bytes, size_t room, int *fd)
{
    union {
        char bytes[CMSG_SPACE(4 * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec into = {.iov_base = bytes, .iov_len = room};
    struct msghdr message = {
        .msg_iov = &into, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    int connection = ft_ask_connect(path);
    *fd = -1;
    if (connection < 0) {
        return connection;
    }
    struct pollfd watch = {.fd = connection, .events = POLLIN};
    ssize_t n = send(connection, question, sizeof(*question), MSG_NOSIGNAL) < 0 ? -errno : 0;
    int ready = n < 0 ? 0 : poll(&watch, 1, FT_ASK_TIMEOUT_MS);
    if (n == 0 && ready <= 0) {
        n = ready < 0 ? -errno : -ETIMEDOUT;
    }
    if (n == 0) {
        n = recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        *fd = n > 0 ? take_descriptor(&message) : -1;
        n = n > 0 ? n : n == 0 ? -EBUSY : -EBADMSG;
    }
    close(connection);
    return n;
}

static ProtobufCMessage *read_memory(int fd, const ProtobufCMessageDescriptor *type)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size < 0 ||
        status.st_size > FT_ASK_MEMORY_MAX) {
        return NULL;
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
    ProtobufCMessage *message = used == bytes ? protobuf_c_message_unpack(type, NULL, bytes, packed) : NULL;
    free(packed);
    return message;
}

int ft_ask_memory(const char *path, const struct ft_attach *question, const ProtobufCMessageDescriptor *type,
                  ProtobufCMessage **reply)
{
    uint8_t count[8];
    int fd;
    ssize_t n = ft_ask_with_fd(path, question, count, sizeof(count), &fd);
    *reply = n > 0 ? read_memory(fd, type) : NULL;
    if (fd >= 0) {
        close(fd);
    }
    if (n < 0) {
        return (int)n;
    }
    return *reply ? 0 : -EBADMSG;
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
        return "does not answer this now: too many questions are asked at a time; ask again (or it is older than this "
               "flowtap)";
    case EBADMSG:
        return "does not answer as a flowtapd of this version does";
    default:
        return strerror(-error);
    }
}
