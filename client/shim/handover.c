// SPDX-License-Identifier: MIT
/* Handing a segment over to the daemon: one connection, one message. */
#include "client/shim/handover.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "proto/control.h"

long ft_make_socket(void)
{
    return ft_sys(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* The program's path from our own Hello, whose first item it is; its last component where it is too long. */
static void copy_exe(struct ft_client_name *name)
{
    const struct ft_hello_item_head *item = (const void *)(ft_hello() + 1);
    const char *path = (const char *)(item + 1);
    size_t n = item->type == FT_HELLO_EXE && item->bytes <= FT_PATH_KEPT_BYTES ? item->bytes : 0, from = 0;
    if (n > sizeof(name->exe))
        for (size_t i = 0; i < n; i++)
            from = path[i] == '/' ? i + 1 : from;
    n -= from;
    ft_copy(name->exe, path + from, n < sizeof(name->exe) ? n : sizeof(name->exe));
}

/* So that the daemon knows whom it has lost if we are killed before we have sent. It may be refused: then it does not. */
static void name_socket(int fd, enum ft_image image)
{
    struct {
        uint16_t family;
        char name[sizeof(struct ft_client_name)];
    } address = {.family = AF_UNIX};
    struct ft_client_name name = {.magic = FT_CLIENT_MAGIC,
                                  .image = (uint8_t)image,
                                  .segment_id = {ft_process.segment_id[0], ft_process.segment_id[1]}};
    copy_exe(&name);
    ft_copy(address.name, (const char *)&name, sizeof(name));
    ft_sys(SYS_bind, fd, &address, sizeof(address));
}

/* To a listener that is root's or our own user's; else -errno. */
static long connect_socket(int fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = ft_length(ft_socket_path);
    ft_copy(address.sun_path, ft_socket_path, n + 1);
    long error = ft_sys(SYS_connect, fd, &address, offsetof(struct sockaddr_un, sun_path) + n + 1);
    struct ucred peer = {0};
    unsigned length = sizeof(peer);
    if (error == 0)
        error = ft_sys(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    if (error == 0 && peer.uid != 0 && peer.uid != (uid_t)ft_sys(SYS_geteuid))
        error = -EPERM;
    return error;
}

static long send_segment(int socket, int memfd)
{
    struct ft_attach attach = {
        .magic = FT_ATTACH_MAGIC,
        .kind = FT_MESSAGE_ATTACH,
        .abi_major = FT_RING_ABI_MAJOR,
        .abi_minor = FT_RING_ABI_MINOR,
        .segment_bytes = ft_process.bytes,
        .pid = ft_process.pid,
    };
    struct iovec data = {&attach, sizeof(attach)};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    *(int *)(void *)CMSG_DATA(rights) = memfd;
    return ft_sys(SYS_sendmsg, socket, &message, MSG_NOSIGNAL);
}

void ft_raise_limit(struct ft_raised *raised, int resource, uint64_t least)
{
    raised->resource = resource;
    if (raised->is_raised || ft_sys(SYS_prlimit64, 0, resource, 0, &raised->before) != 0)
        return;
    if (raised->before.rlim_cur >= least)
        return;
    struct rlimit more = raised->before;
    more.rlim_cur = least < more.rlim_max ? least : more.rlim_max;
    raised->is_raised = more.rlim_cur > raised->before.rlim_cur && ft_sys(SYS_prlimit64, 0, resource, &more, 0) == 0;
}

void ft_put_back_limit(const struct ft_raised *raised)
{
    if (raised->is_raised)
        ft_sys(SYS_prlimit64, 0, raised->resource, &raised->before, 0);
}

long ft_hand_over(int socket, int memfd, enum ft_image image, struct ft_raised *files)
{
    name_socket(socket, image);
    long error = connect_socket(socket);
    if (error != 0)
        return error;
    FT_TEST_POINT(connected);
    error = send_segment(socket, memfd);
    if (error == -ETOOMANYREFS) {
        ft_raise_limit(files, RLIMIT_NOFILE, UINT32_MAX);
        error = send_segment(socket, memfd);
    }
    FT_TEST_POINT(sent);
    return error < 0 ? error : 0;
}
