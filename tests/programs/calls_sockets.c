// SPDX-License-Identifier: MIT
// Sockets: what moves is told, also by calls that move many messages.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "record.h"

static char buffer[4096];
static struct sockaddr_un place = {.sun_family = AF_UNIX, .sun_path = "socket"};

#define GIVES(value, ...) CHECK(CALL(__VA_ARGS__) == (value))
#define GOOD(...) GIVES(0, __VA_ARGS__)

static int made(int type)
{
    int fd = CALL("socket", NULL, NA, NA, NA, socket(AF_UNIX, type, 0));
    CHECK(fd >= 0);
    return fd;
}

static void streams(void)
{
    struct iovec parts[2] = {{buffer, 10}, {buffer, 20}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    int listening = made(SOCK_STREAM);
    GOOD("bind", NULL, listening, NA, NA, bind(listening, (void *)&place, sizeof place));
    GOOD("listen", NULL, listening, NA, NA, listen(listening, 5));
    int a = made(SOCK_STREAM), b = made(SOCK_STREAM);
    GOOD("connect", NULL, a, NA, NA, connect(a, (void *)&place, sizeof place));
    GOOD("connect", NULL, b, NA, NA, connect(b, (void *)&place, sizeof place));
    int c = CALL("accept", NULL, listening, NA, NA, accept(listening, NULL, NULL));
    int d = CALL("accept4", NULL, listening, NA, NA, accept4(listening, NULL, NULL, SOCK_CLOEXEC));
    CHECK(c >= 0 && d >= 0);
    GIVES(100, "send", NULL, a, 100, NA, send(a, buffer, 100, 0));
    GIVES(50, "recv", NULL, c, 50, NA, recv(c, buffer, 50, 0));
    GIVES(50, "read", NULL, c, 500, NONE, read(c, buffer, 500));
    GIVES(30, "sendmsg", NULL, b, 30, NA, sendmsg(b, &message, 0));
    GIVES(30, "recvmsg", NULL, d, 30, NA, recvmsg(d, &message, 0));
    CHECK(CALL("recv", NULL, d, 50, NA, recv(d, buffer, 50, MSG_DONTWAIT)) == -1 && errno == EAGAIN);
    CHECK(CALL("recvmsg", NULL, d, 30, NA, recvmsg(d, &message, MSG_DONTWAIT)) == -1 && errno == EAGAIN);
    GOOD("shutdown", NULL, a, NA, NA, shutdown(a, SHUT_RDWR));
    CHECK(CALL("send", NULL, a, 5, NA, send(a, buffer, 5, MSG_NOSIGNAL)) == -1 && errno == EPIPE);
}

static void datagrams(void)
{
    struct iovec parts[3] = {{buffer, 10}, {buffer, 20}, {buffer, 30}};
    struct mmsghdr many[3] = {{.msg_hdr = {.msg_iov = parts, .msg_iovlen = 1}},
                              {.msg_hdr = {.msg_iov = parts + 1, .msg_iovlen = 1}},
                              {.msg_hdr = {.msg_iov = parts + 2, .msg_iovlen = 1}}};
    int s[2];
    GOOD("socketpair", NULL, NA, NA, NA, socketpair(AF_UNIX, SOCK_DGRAM, 0, s));
    GIVES(5, "sendto", NULL, s[0], 5, NA, sendto(s[0], buffer, 5, 0, NULL, 0));
    GIVES(5, "recvfrom", NULL, s[1], 100, NA, recvfrom(s[1], buffer, 100, 0, NULL, NULL));
    GIVES(3, "sendmmsg", NULL, s[0], NA, NA, sendmmsg(s[0], many, 3, 0));
    GIVES(3, "recvmmsg", NULL, s[1], NA, NA, recvmmsg(s[1], many, 3, 0, NULL));
    CHECK(CALL("recvmmsg", NULL, s[1], NA, NA, recvmmsg(s[1], many, 3, MSG_DONTWAIT, NULL)) == -1 && errno == EAGAIN);
}

int main(void)
{
    record_open();
    streams();
    datagrams();
    return 0;
}
