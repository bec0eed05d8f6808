// SPDX-License-Identifier: MIT
// What hostile_message.c and hostile_segment.c have in common: each is one client that lies to the daemon.
//   PROGRAM list           names its cases, one a line
//   PROGRAM CASE SOCKET    does one; ends with 0 whatever the daemon makes of it
#ifndef FT_TESTS_HOSTILE_H
#define FT_TESTS_HOSTILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/calls.h"
#include "tests/unit/daemon/segment_maker.c"

enum { FDS_MAX = 253, EVENTS = 300 };

static const char *path_of_socket;

static int connected(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path_of_socket);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        return -1;
    return fd;
}

// What the kernel or the daemon says to it is nobody's business.
static void send_to(int socket, const void *bytes, size_t count, const int *fds, size_t fds_count)
{
    union {
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec from = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = count};
    struct msghdr message = {.msg_iov = &from, .msg_iovlen = 1};
    if (fds_count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(fds_count * sizeof(int));
        struct cmsghdr *part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(fds_count * sizeof(int));
        memcpy(CMSG_DATA(part), fds, fds_count * sizeof(int));
    }
    (void)!sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static struct ft_attach good_message(uint64_t bytes)
{
    return (struct ft_attach){.magic = FT_ATTACH_MAGIC,
                              .kind = FT_MESSAGE_ATTACH,
                              .abi_major = FT_RING_ABI_MAJOR,
                              .segment_bytes = bytes,
                              .pid = (uint32_t)getpid()};
}

// Sends a descriptor as a segment of `bytes`.
static void offer(int fd, uint64_t bytes)
{
    struct ft_attach attach = good_message(bytes);
    int socket = connected();
    send_to(socket, &attach, sizeof(attach), &fd, 1);
    close(socket);
}

static void fill(struct maker *maker)
{
    maker_init(maker);
    maker_hello_item(maker, FT_HELLO_EXE, "/hostile", 8);
    for (uint32_t i = 0; i < EVENTS; i++)
        maker_call(maker, i % 3, FT_CALL_ID_pread64, FT_FILE_CWD, 1, i, maker_ticks(), 1);
}

// Says that all is there, and waits until nobody writes to our stdin any more: others are served meanwhile.
static inline void hold_until_told(void)
{
    char byte;
    puts("holds");
    fflush(stdout);
    (void)!read(STDIN_FILENO, &byte, 1);
}

struct hostile_case {
    const char *name;
    void (*run)(void);
};

#define CASE(name) {#name, name}

static int hostile_main(const struct hostile_case *cases, size_t count, int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < count; i++)
            puts(cases[i].name);
        return 0;
    }
    for (size_t i = 0; argc == 3 && i < count; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) {
            path_of_socket = argv[2];
            cases[i].run();
            return 0;
        }
    return 2;
}

#endif
