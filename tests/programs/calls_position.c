// SPDX-License-Identifier: MIT
// Positions: after every kind of move the next call's offset is where the kernel was, or is not told.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "record.h"

static char buffer[4096];
static struct iovec part = {buffer, 10};
enum { APPEND = 0x10 }; // RWF_APPEND

#define GIVES(value, ...) CHECK(CALL(__VA_ARGS__) == (value))

static int opened(const char *name)
{
    int fd = CALL("open", name, NA, NA, NA, open(name, O_RDWR | O_CREAT | O_TRUNC, 0600));
    CHECK(fd >= 0);
    return fd;
}

// Where the kernel is, by a system call of our own.
static long position(int fd)
{
    return raw_call(SYS_lseek, fd, 0, SEEK_CUR, 0, 0, 0);
}

static void filled(int fd, long size)
{
    CHECK(raw_call(SYS_pwrite64, fd, (long)buffer, size, 0, 0, 0) == size);
}

// One byte more, which is either told right or not told.
static void writes_at(const char *name, int fd, int is_told)
{
    long at = position(fd);
    GIVES(1, "write", name, fd, 1, is_told ? at : NONE, write(fd, buffer, 1));
}

static void seeks(void)
{
    int fd = opened("sparse");
    GIVES(10, "pwrite", "sparse", fd, 10, 1 << 20, pwrite(fd, buffer, 10, 1 << 20));
    long data = CALL("lseek", "sparse", fd, NA, NA, lseek(fd, 0, SEEK_DATA));
    CHECK(data > 0);
    GIVES(1, "read", "sparse", fd, 1, data, read(fd, buffer, 1));
    long hole = CALL("lseek", "sparse", fd, NA, NA, lseek(fd, 0, SEEK_HOLE));
    GIVES(5, "write", "sparse", fd, 5, hole, write(fd, buffer, 5));
    GIVES((1 << 20) + 10 - 3, "lseek", "sparse", fd, NA, NA, lseek(fd, -3, SEEK_END));
    GIVES(3, "read", "sparse", fd, 50, (1 << 20) + 7, read(fd, buffer, 50));
    GIVES((1 << 20) + 12, "lseek64", "sparse", fd, NA, NA, lseek64(fd, 2, SEEK_CUR));
    GIVES(4, "write", "sparse", fd, 4, (1 << 20) + 12, write(fd, buffer, 4));
    CHECK(CALL("lseek", "sparse", fd, NA, NA, lseek(fd, 5L << 30, SEEK_DATA)) == -1 && errno == ENXIO);
    writes_at("sparse", fd, 1);
    GIVES(0, "ftruncate", "sparse", fd, NA, NA, ftruncate(fd, 0));
    writes_at("sparse", fd, 1);
}

static void vectors(void)
{
    int fd = opened("vectors");
    GIVES(10, "pwritev2", "vectors", fd, 10, 0, pwritev2(fd, &part, 1, -1, 0));
    GIVES(10, "pwritev64v2", "vectors", fd, 10, 10, pwritev64v2(fd, &part, 1, -1, 0));
    writes_at("vectors", fd, 1);
    // where the end is, is not told; the position stays where it was
    GIVES(10, "pwritev2", "vectors", fd, 10, NONE, pwritev2(fd, &part, 1, 3, APPEND));
    writes_at("vectors", fd, 1);
    GIVES(10, "pwritev2", "vectors", fd, 10, NONE, pwritev2(fd, &part, 1, -1, APPEND));
    writes_at("vectors", fd, 0);
}

static void prints(void)
{
    int fd = opened("prints");
    GIVES(6, "dprintf", "prints", fd, NA, NA, dprintf(fd, "%s\n", "there"));
    writes_at("prints", fd, 1);
    GIVES(0, "close", "prints", fd, NA, NA, close(fd));
    fd = opened("stream");
    writes_at("stream", fd, 1);
    FILE *f = CALL("fdopen", "stream", fd, NA, NA, fdopen(fd, "a"));
    CHECK(f);
    writes_at("stream", fd, 0);
    fd = opened("flags");
    writes_at("flags", fd, 1);
    GIVES(0, "fcntl", "flags", fd, NA, NA, fcntl(fd, F_SETFL, O_APPEND));
    writes_at("flags", fd, 0);
}

static void by_number(void)
{
    int fd = opened("numbers"), out = opened("copies");
    filled(fd, 100);
    CHECK(syscall(SYS_pread64, fd, buffer, 5, 50) == 5);
    writes_at("numbers", fd, 1);
    CHECK(syscall(SYS_read, fd, buffer, 5) == 5);
    writes_at("numbers", fd, 0);
    int two = opened("two");
    filled(two, 100);
    CHECK(syscall(SYS_lseek, two, 77, SEEK_SET) == 77);
    writes_at("two", two, 0);
    int three = opened("three");
    CHECK(syscall(SYS_writev, three, &part, 1) == 10);
    writes_at("three", three, 0);
    writes_at("copies", out, 1);
    CHECK(syscall(SYS_copy_file_range, two, &(off_t){0}, out, NULL, 5, 0) == 5);
    writes_at("copies", out, 0);
    int four = opened("four");
    writes_at("four", four, 1);
    CHECK(syscall(SYS_sendfile, four, two, &(off_t){0}, 5) == 5);
    writes_at("four", four, 0);
    int five = opened("five");
    CHECK(syscall(SYS_fcntl, five, F_SETFL, O_APPEND) == 0);
    writes_at("five", five, 0);
}

static void transfers(void)
{
    int in = opened("in"), out = opened("out"), p[2];
    filled(in, 1000);
    CHECK(pipe(p) == 0);
    GIVES(100, "sendfile", "in", in, 100, 0, sendfile(out, in, NULL, 100));
    writes_at("in", in, 1);
    writes_at("out", out, 1);
    GIVES(50, "copy_file_range", "in", in, 50, 101, copy_file_range(in, NULL, out, NULL, 50, 0));
    writes_at("out", out, 1);
    GIVES(30, "splice", "in", in, 30, 151, splice(in, NULL, p[1], NULL, 30, 0));
    writes_at("in", in, 1);
    GIVES(30, "splice", NULL, p[0], 30, NA, splice(p[0], NULL, out, NULL, 30, 0));
    writes_at("out", out, 1);
    off_t at = 500;
    GIVES(20, "sendfile", "in", in, 20, 500, sendfile(out, in, &at, 20));
    writes_at("in", in, 1);
    writes_at("out", out, 1);
}

// A description that was handed to whoever holds the other end is moved unseen from then on; one that came is another's.
static void passed(void)
{
    int fd = opened("passed"), ends[2];
    writes_at("passed", fd, 1);
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))}};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    GIVES(10, "sendmsg", NULL, ends[0], 10, NA, sendmsg(ends[0], &message, 0));
    writes_at("passed", fd, 0);
    GIVES(10, "recvmsg", NULL, ends[1], 10, NA, recvmsg(ends[1], &message, 0));
    int got;
    memcpy(&got, CMSG_DATA(&control.head), sizeof got);
    CHECK(got > fd);
    writes_at("passed", got, 0);
}

int main(void)
{
    memset(buffer, 'x', sizeof buffer);
    record_open();
    seeks();
    vectors();
    prints();
    by_number();
    transfers();
    passed();
    return 0;
}
