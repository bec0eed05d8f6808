// SPDX-License-Identifier: MIT
//
// Any message on the daemon's socket, with none, one or several descriptors.
#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/admit.h"
#include "proto/ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void send_message(int socket_fd, const uint8_t *data, size_t size, unsigned fd_count)
{
    union {
        char bytes[CMSG_SPACE(8 * sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec from = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
    struct msghdr message = {.msg_iov = &from, .msg_iovlen = 1};
    int fds[8];
    for (unsigned i = 0; i < fd_count; i++)
        fds[i] = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd_count) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(part), fds, fd_count * sizeof(int));
    }
    (void)!sendmsg(socket_fd, &message, MSG_NOSIGNAL);
    for (unsigned i = 0; i < fd_count; i++)
        close(fds[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int pair[2];
    if (size < 1)
        return 0;
    assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    send_message(pair[0], data + 1, size - 1, data[0] % 8);
    struct ft_admit_message message;
    if (ft_admit_receive(pair[1], &message) == 0) {
        assert(message.attach.abi_major == FT_RING_ABI_MAJOR);
        assert((message.attach.kind != FT_MESSAGE_ATTACH) == (message.fd < 0)); // a request brings no descriptor
        if (message.fd >= 0) {
            assert(ft_admit_check_memory(message.fd, message.attach.segment_bytes, FT_SEGMENT_BYTES_MAX) <
                   0); // not sealed
            close(message.fd);
        }
    }
    close(pair[0]);
    close(pair[1]);
    return 0;
}
