// SPDX-License-Identifier: MIT
// POSIX asynchronous I/O: one event for each submission, and libc's helper threads add none.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>
#include <unistd.h>

#include "record.h"

#ifndef NAME
#define NAME(name) name
#endif

static char buffer[3][512];

#define GOOD(...) CHECK(CALL(__VA_ARGS__) == 0)

static void finished(struct aiocb *c, long want)
{
    const struct aiocb *list[1] = {c};
    while (aio_suspend(list, 1, NULL) != 0)
        CHECK(errno == EINTR);
    GOOD(NAME("aio_error"), NULL, c->aio_fildes, NA, NA, aio_error(c));
    CHECK(aio_return(c) == want);
}

static void single(int fd)
{
    struct aiocb c = {.aio_fildes = fd, .aio_buf = buffer[0], .aio_nbytes = 512, .aio_offset = 1024};
    GOOD(NAME("aio_write"), "data", fd, 512, 1024, aio_write(&c));
    finished(&c, 512);
    memset(&c, 0, sizeof c);
    c.aio_fildes = fd, c.aio_buf = buffer[1], c.aio_nbytes = 100, c.aio_offset = 1024;
    GOOD(NAME("aio_read"), "data", fd, 100, 1024, aio_read(&c));
    finished(&c, 100);
    c.aio_offset = 5L << 30;
    GOOD(NAME("aio_write"), "data", fd, 100, 5L << 30, aio_write(&c));
    finished(&c, 100);
    GOOD(NAME("aio_fsync"), "data", fd, NA, NA, aio_fsync(O_SYNC, &c));
    finished(&c, 0);
    CHECK(CALL(NAME("aio_cancel"), "data", fd, NA, NA, aio_cancel(fd, NULL)) == AIO_ALLDONE);
    c.aio_fildes = 77;
    CHECK(CALL(NAME("aio_fsync"), NULL, 77, NA, NA, aio_fsync(O_SYNC, &c)) == -1 && errno == EBADF);
}

static void lists(int fd, int other)
{
    struct aiocb a = {.aio_fildes = fd, .aio_buf = buffer[0], .aio_nbytes = 64, .aio_lio_opcode = LIO_WRITE};
    struct aiocb b = {
        .aio_fildes = fd, .aio_buf = buffer[1], .aio_nbytes = 36, .aio_offset = 64, .aio_lio_opcode = LIO_READ};
    struct aiocb none = {.aio_fildes = 77, .aio_nbytes = 1000, .aio_lio_opcode = LIO_NOP};
    struct aiocb *list[4] = {&a, NULL, &none, &b};
    GOOD(NAME("lio_listio"), "data", fd, 100, NONE, lio_listio(LIO_WAIT, list, 4, NULL));
    finished(&a, 64);
    finished(&b, 36);
    list[0] = &b;
    GOOD(NAME("lio_listio"), "data", fd, 36, 64, lio_listio(LIO_NOWAIT, list, 1, NULL));
    finished(&b, 36);
    a.aio_fildes = other;
    list[3] = &a;
    GOOD(NAME("lio_listio"), NULL, NONE, 100, NONE, lio_listio(LIO_WAIT, list, 4, NULL));
    finished(&a, 64);
    finished(&b, 36);
    GOOD(NAME("lio_listio"), NULL, NONE, NONE, NONE, lio_listio(LIO_WAIT, list, 0, NULL));
}

int main(void)
{
    record_open();
    int fd = CALL(NAME("open"), "data", NA, NA, NA, open("data", O_RDWR | O_CREAT, 0600));
    int other = CALL(NAME("open"), "other", NA, NA, NA, open("other", O_RDWR | O_CREAT, 0600));
    CHECK(fd >= 0 && other >= 0);
    single(fd);
    lists(fd, other);
    GOOD("close", "data", fd, NA, NA, close(fd));
    return 0;
}
