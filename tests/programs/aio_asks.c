// SPDX-License-Identifier: MIT
// aio_asks COUNT: reads from a pipe in which there is nothing yet, asks COUNT times whether the byte has come, writes it.
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/programs/record.h"

int main(int argc, char **argv)
{
    int ends[2];
    char byte;
    CHECK(argc > 1 && pipe(ends) == 0);
    struct aiocb request = {.aio_fildes = ends[0], .aio_buf = &byte, .aio_nbytes = 1};
    const struct aiocb *list[1] = {&request};
    CHECK(aio_read(&request) == 0);
    for (long left = atol(argv[1]); left > 0; left--)
        CHECK(aio_error(&request) == EINPROGRESS);
    CHECK(write(ends[1], "x", 1) == 1);
    CHECK(aio_suspend(list, 1, NULL) == 0);
    CHECK(aio_error(&request) == 0);
    CHECK(aio_return(&request) == 1);
    return 0;
}
