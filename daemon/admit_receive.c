// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "daemon/admit.h"
#include "proto/ring.h"

#define FDS_MAX 4

// Keeps the first descriptor, closes the others. Returns how many there were.
static unsigned take_descriptors(struct msghdr *message, int *kept)
{
    unsigned count = 0;
    *kept = -1;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        size_t bytes = part->cmsg_len - CMSG_LEN(0);
        for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + at, sizeof(fd));
            if (count++ == 0)
                *kept = fd;
            else
                close(fd);
        }
    }
    return count;
}

static bool is_attach(const struct ft_attach *message, unsigned fds)
{
    return message->kind == FT_MESSAGE_ATTACH && fds == 1;
}

static bool is_question(const struct ft_attach *message, unsigned fds)
{
    return message->kind >= FT_MESSAGE_STATUS && message->kind <= FT_MESSAGE_TOP && fds == 0;
}

int ft_admit_receive(int socket_fd, struct ft_admit_message *out)
{
    union {
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct ft_attach attach;
    struct iovec into = {.iov_base = &attach, .iov_len = sizeof(attach)};
    struct msghdr message = {
        .msg_iov = &into, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(socket_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0)
        return errno == EINTR ? -EAGAIN : errno == EWOULDBLOCK ? -EAGAIN : -errno;
    int fd;
    unsigned count = take_descriptors(&message, &fd);
    int r = 0;
    bool is_ours = n == sizeof(attach) && !(message.msg_flags & MSG_TRUNC) && attach.magic == FT_ATTACH_MAGIC;
    bool is_cut = message.msg_flags & MSG_CTRUNC;
    if (n == 0 && count == 0)
        r = -ENODATA;
    else if (is_ours && is_cut && count == 0)
        r = -EMFILE; // it came with one, for which we had no room
    else if (!is_ours || is_cut || !(is_attach(&attach, count) || is_question(&attach, count)))
        r = -EBADMSG;
    else if (attach.abi_major != FT_RING_ABI_MAJOR)
        r = -EPROTO;
    if (r < 0) {
        if (fd >= 0)
            close(fd);
        return r;
    }
    *out = (struct ft_admit_message){.attach = attach, .fd = fd};
    return 0;
}
