// SPDX-License-Identifier: MIT
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/queues.h"

static void connections_that_wait_are_counted(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX}; // autobound: the kernel chooses an abstract name
    socklen_t bytes = sizeof(address);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), clients[3];
    uint32_t count = 99;
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    int r = ft_queues_connections_by_netlink(listener, &count);
    if (r < 0) {
        printf("skipped: the kernel does not tell (%d)\n", r);
        skip();
    }
    assert_int_equal(count, 0);
    for (uint32_t i = 0; i < 3; i++) {
        clients[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(clients[i], (struct sockaddr *)&address, bytes), 0);
        assert_int_equal(ft_queues_connections(listener, &count), 0);
        assert_int_equal(count, i + 1);
    }
    int taken = accept(listener, NULL, NULL);
    assert_int_equal(ft_queues_connections(listener, &count), 0);
    assert_int_equal(count, 2);
    for (unsigned i = 0; i < 3; i++)
        close(clients[i]);
    close(taken);
    close(listener);
}

static void send_descriptor(int socket)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec from = {.iov_base = "x", .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &from, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(part), &socket, sizeof(int));
    assert_int_equal(sendmsg(socket, &message, MSG_NOSIGNAL), 1);
}

// Also of processes that have sent their memory and closed; in a network namespace of its own, where netlink knows nothing.
static void where_netlink_does_not_tell_descriptors_do(void **state)
{
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t bytes = sizeof(address);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    uint32_t count = 99;
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    int r = ft_queues_connections_by_descriptors(listener, &count);
    if (r < 0) {
        printf("skipped: the kernel does not tell (%d)\n", r);
        skip();
    }
    assert_int_equal(count, 0);
    for (uint32_t i = 0; i < 3; i++) {
        int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(client, (struct sockaddr *)&address, bytes), 0);
        send_descriptor(client);
        close(client);
        assert_int_equal(ft_queues_connections_by_descriptors(listener, &count), 0);
        assert_int_equal(count, i + 1);
    }
    if (unshare(CLONE_NEWNET) == 0) {
        assert_int_equal(ft_queues_connections(listener, &count), 0);
        assert_int_equal(count, 3);
    }
    int taken = accept(listener, NULL, NULL);
    assert_int_equal(ft_queues_connections_by_descriptors(listener, &count), 0);
    assert_int_equal(count, 2);
    close(taken);
    close(listener);
}

static void what_is_no_socket_has_no_queue(void **state)
{
    (void)state;
    uint32_t count = 99;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    assert_true(ft_queues_connections(pipes[0], &count) < 0);
    assert_int_equal(ft_queues_connections(-1, &count), -EBADF);
    assert_int_equal(count, 99);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_that_wait_are_counted),
        cmocka_unit_test(where_netlink_does_not_tell_descriptors_do),
        cmocka_unit_test(what_is_no_socket_has_no_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
