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

long ft_hand_over(int socket, int memfd, struct ft_raised *files)
{
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
