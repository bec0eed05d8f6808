// SPDX-License-Identifier: MIT
// Every way to read and write through a descriptor, with the offsets that are known and those that are not.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "record.h"

static char buffer[4096];
static void *volatile nowhere = (void *)1;
static volatile int minus_one = -1;
static struct iovec parts[3] = {{buffer, 10}, {buffer + 100, 20}, {buffer + 200, 30}};

#define GIVES(value, ...) CHECK(CALL(__VA_ARGS__) == (value))
#define FAILS(error, ...) CHECK(CALL(__VA_ARGS__) == -1 && errno == (error))

static void writes(int fd)
{
    GIVES(100, "write", "out", fd, 100, 0, write(fd, buffer, 100));
    GIVES(60, "writev", "out", fd, 60, 100, writev(fd, parts, 3));
    GIVES(50, "pwrite", "out", fd, 50, 1000, pwrite(fd, buffer, 50, 1000));
    GIVES(51, "pwrite64", "out", fd, 51, 1050, pwrite64(fd, buffer, 51, 1050));
    GIVES(60, "pwritev", "out", fd, 60, 2000, pwritev(fd, parts, 3, 2000));
    GIVES(30, "pwritev64", "out", fd, 30, 2060, pwritev64(fd, parts, 2, 2060));
    GIVES(60, "pwritev2", "out", fd, 60, 3000, pwritev2(fd, parts, 3, 3000, 0));
    GIVES(60, "pwritev64v2", "out", fd, 60, 3060, pwritev64v2(fd, parts, 3, 3060, 0));
    GIVES(5, "write", "out", fd, 5, 160, write(fd, buffer, 5));
    GIVES(0, "write", "out", fd, 0, 165, write(fd, buffer, 0));
    GIVES(7, "pwrite", "out", fd, 7, 5L << 30, pwrite(fd, buffer, 7, 5L << 30));
}

static void reads(int fd)
{
    GIVES(0, "lseek", "out", fd, NA, NA, lseek(fd, 0, SEEK_SET));
    GIVES(100, "read", "out", fd, 100, 0, read(fd, buffer, 100));
    GIVES(60, "readv", "out", fd, 60, 100, readv(fd, parts, 3));
    GIVES(50, "pread", "out", fd, 50, 1000, pread(fd, buffer, 50, 1000));
    GIVES(51, "pread64", "out", fd, 51, 1050, pread64(fd, buffer, 51, 1050));
    GIVES(60, "preadv", "out", fd, 60, 2000, preadv(fd, parts, 3, 2000));
    GIVES(30, "preadv64", "out", fd, 30, 2060, preadv64(fd, parts, 2, 2060));
    GIVES(60, "preadv2", "out", fd, 60, 3000, preadv2(fd, parts, 3, 3000, 0));
    GIVES(60, "preadv64v2", "out", fd, 60, 3060, preadv64v2(fd, parts, 3, 3060, 0));
    GIVES(7, "pread64", "out", fd, 100, 5L << 30, pread64(fd, buffer, 100, 5L << 30));
    GIVES(0, "pread64", "out", fd, 100, 6L << 30, pread64(fd, buffer, 100, 6L << 30));
    GIVES(1000, "lseek64", "out", fd, NA, NA, lseek64(fd, 1000, SEEK_SET));
    GIVES(1, "read", "out", fd, 1, 1000, read(fd, buffer, 1));
    GIVES(10, "preadv2", "out", fd, 10, NA, preadv2(fd, parts, 1, -1, 0));
    GIVES(4, "read", "out", fd, 4, 1011, read(fd, buffer, 4));
}

// After O_APPEND, a fork or a position that was never ours, the offset is not known.
static void unknown_offsets(void)
{
    int fd = CALL("open", "out", NA, NA, NA, open("out", O_WRONLY | O_APPEND));
    GIVES(3, "write", "out", fd, 3, NONE, write(fd, buffer, 3));
    GIVES(0, "close", "out", fd, NA, NA, close(fd));
}

static void failing(int fd)
{
    FAILS(EBADF, "read", NULL, 77, 10, NA, read(77, buffer, 10));
    FAILS(EBADF, "write", NULL, NONE, 10, NA, write(-1, buffer, 10));
    FAILS(EFAULT, "read", "out", fd, 10, NA, read(fd, nowhere, 10));
    FAILS(EINVAL, "pread64", "out", fd, 10, NA, pread64(fd, buffer, 10, -5));
    FAILS(EINVAL, "lseek", "out", fd, NA, NA, lseek(fd, -10, SEEK_SET));
    FAILS(EOPNOTSUPP, "preadv2", "out", fd, 10, 0, preadv2(fd, parts, 1, 0, 0x40000000));
    FAILS(EINVAL, "readv", "out", fd, NA, NA, readv(fd, parts, minus_one));
    int dir = CALL("open", ".", NA, NA, NA, open(".", O_RDONLY));
    FAILS(EISDIR, "read", ".", dir, 10, NA, read(dir, buffer, 10));
    GIVES(0, "close", ".", dir, NA, NA, close(dir));
    FAILS(EBADF, "close", NULL, dir, NA, NA, close(dir));
    int pipes[2];
    CHECK(CALL("pipe2", NULL, NA, NA, NA, pipe2(pipes, O_NONBLOCK)) == 0);
    FAILS(EAGAIN, "read", NULL, pipes[0], 10, NONE, read(pipes[0], buffer, 10));
    FAILS(ESPIPE, "pread64", NULL, pipes[0], 10, NA, pread64(pipes[0], buffer, 10, 0));
    FAILS(ESPIPE, "lseek", NULL, pipes[0], NA, NA, lseek(pipes[0], 0, SEEK_SET));
}

static void ignored(int number)
{
    (void)number;
}

// Less than was asked for, nothing now, and nothing because a signal came.
static void short_and_interrupted(void)
{
    int p[2];
    struct sigaction action = {.sa_handler = ignored}; // no SA_RESTART
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {0};
    CHECK(CALL("pipe", NULL, NA, NA, NA, pipe(p)) == 0);
    GIVES(3, "write", NULL, p[1], 3, NONE, write(p[1], buffer, 3));
    GIVES(3, "read", NULL, p[0], 10, NONE, read(p[0], buffer, 10));
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
    FAILS(EINTR, "read", NULL, p[0], 10, NONE, read(p[0], buffer, 10));
    FAILS(EINTR, "readv", NULL, p[0], 60, NONE, readv(p[0], parts, 3));
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    GIVES(0, "close", NULL, p[1], NA, NA, close(p[1]));
    GIVES(0, "read", NULL, p[0], 10, NONE, read(p[0], buffer, 10));
}

static void syncs(int fd)
{
    GIVES(0, "fsync", "out", fd, NA, NA, fsync(fd));
    GIVES(0, "fdatasync", "out", fd, NA, NA, fdatasync(fd));
    GIVES(0, "sync_file_range", "out", fd, NA, NA, sync_file_range(fd, 0, 100, 0));
    GIVES(0, "syncfs", "out", fd, NA, NA, syncfs(fd));
}

int main(void)
{
    record_open();
    int fd = CALL("open", "out", NA, NA, NA, open("out", O_RDWR | O_CREAT | O_TRUNC, 0600));
    CHECK(fd >= 0);
    writes(fd);
    reads(fd);
    unknown_offsets();
    failing(fd);
    syncs(fd);
    short_and_interrupted();
    return 0;
}
