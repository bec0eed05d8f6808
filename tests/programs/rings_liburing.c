// SPDX-License-Identifier: MIT
// rings_liburing: writes "data" and reads it back through a ring of liburing, then waits for the end of stdin. Exits with 77
// where the kernel gives no ring.
// LDFLAGS: -luring
// OPTIONAL: liburing-dev
#define _GNU_SOURCE
#include <fcntl.h>
#include <liburing.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1000 };
static char out[BYTES], in[BYTES];
static struct io_uring ring;

/* One request, to its end; what it moved. */
static int done(void)
{
    struct io_uring_cqe *completion;
    if (io_uring_submit(&ring) != 1 || io_uring_wait_cqe(&ring, &completion) != 0)
        return -1;
    int moved = completion->res;
    io_uring_cqe_seen(&ring, completion);
    return moved;
}

int main(void)
{
    char byte;
    int fd = open("data", O_RDWR | O_CREAT, 0600);
    if (fd < 0 || io_uring_queue_init(8, &ring, 0) != 0)
        return 77;
    memset(out, 'x', sizeof(out));
    io_uring_prep_write(io_uring_get_sqe(&ring), fd, out, BYTES, 0);
    if (done() != BYTES)
        return 1;
    io_uring_prep_read(io_uring_get_sqe(&ring), fd, in, BYTES, 0);
    if (done() != BYTES || memcmp(in, out, BYTES) != 0)
        return 2;
    if (read(0, &byte, 1) != 0)
        return 3;
    io_uring_queue_exit(&ring);
    return close(fd);
}
