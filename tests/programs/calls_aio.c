// SPDX-License-Identifier: MIT
// POSIX asynchronous I/O: one event for the submission, and libc's helper threads add none.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>
#include <unistd.h>

#include "record.h"

static char buffer[3][512];

static void finished(struct aiocb *c, long want, const char *path)
{
    const struct aiocb *list[1] = {c};
    int state;
    while ((state = aio_error(c)) == EINPROGRESS)
        aio_suspend(list, 1, NULL);
    CHECK(state == 0);
    CHECK(aio_return(c) == want);
    (void)path;
}

int main(void)
{
    record_open();
    int fd = CALL("open", "data", NA, NA, NA, open("data", O_RDWR | O_CREAT, 0600));
    struct aiocb c = {.aio_fildes = fd, .aio_buf = buffer[0], .aio_nbytes = 512, .aio_offset = 1024};
    CHECK(CALL("aio_write", "data", fd, 512, 1024, aio_write(&c)) == 0);
    finished(&c, 512, "data");
    memset(&c, 0, sizeof c);
    c.aio_fildes = fd, c.aio_buf = buffer[1], c.aio_nbytes = 100, c.aio_offset = 1024;
    CHECK(CALL("aio_read", "data", fd, 100, 1024, aio_read(&c)) == 0);
    finished(&c, 100, "data");
    CHECK(CALL("aio_fsync", "data", fd, NA, NA, aio_fsync(O_SYNC, &c)) == 0);
    finished(&c, 0, "data");
    struct aiocb a = {
        .aio_fildes = fd, .aio_buf = buffer[0], .aio_nbytes = 64, .aio_offset = 0, .aio_lio_opcode = LIO_WRITE};
    struct aiocb b = {
        .aio_fildes = fd, .aio_buf = buffer[1], .aio_nbytes = 64, .aio_offset = 64, .aio_lio_opcode = LIO_WRITE};
    struct aiocb *list[2] = {&a, &b};
    CHECK(CALL("lio_listio", NULL, NA, NA, NA, lio_listio(LIO_WAIT, list, 2, NULL)) == 0);
    finished(&a, 64, "data");
    finished(&b, 64, "data");
    CHECK(CALL("close", "data", fd, NA, NA, close(fd)) == 0);
    return 0;
}
