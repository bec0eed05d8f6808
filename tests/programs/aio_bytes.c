// SPDX-License-Identifier: MIT
// POSIX asynchronous I/O on "data": 3 x 4096 bytes written, 12 read back one by one, 5000 of a list (2 x 4000 asked for, 3000
// short of the end), a sync, and a read that fails. It uses the 64-bit names for the list.
#define _GNU_SOURCE
#include <aio.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static char buffer[3 * 4096];

static ssize_t finished(struct aiocb *c)
{
    const struct aiocb *list[1] = {c};
    while (aio_error(c) == EINPROGRESS)
        aio_suspend(list, 1, NULL);
    return aio_return(c);
}

int main(void)
{
    int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct aiocb one = {.aio_fildes = fd, .aio_buf = buffer, .aio_nbytes = 4096};
    for (int i = 0; i < 3; i++, one.aio_offset += 4096) {
        assert(aio_write(&one) == 0);
        assert(finished(&one) == 4096);
    }
    one.aio_nbytes = 1;
    for (one.aio_offset = 0; one.aio_offset < 12; one.aio_offset++) {
        assert(aio_read(&one) == 0);
        assert(finished(&one) == 1);
    }
    struct aiocb64 a = {.aio_fildes = fd, .aio_buf = buffer, .aio_nbytes = 4000, .aio_lio_opcode = LIO_READ}, b = a;
    b.aio_offset = 3 * 4096 - 1000;
    struct aiocb64 *list[] = {&a, &b};
    assert(lio_listio64(LIO_WAIT, list, 2, NULL) == 0);
    assert(aio_return64(&a) == 4000 && aio_return64(&b) == 1000);
    assert(aio_fsync(O_SYNC, &one) == 0);
    assert(finished(&one) == 0);
    one.aio_fildes = open("data", O_WRONLY);
    assert(aio_read(&one) == 0);
    assert(finished(&one) == -1);
    return 0;
}
