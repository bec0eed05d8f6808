// SPDX-License-Identifier: MIT
// Four threads whose every call is in the account: sizes, offsets, results, errors, times.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "record.h"

static void *work(void *argument)
{
    long n = (long)argument;
    char name[32], buffer[4096] = {0};
    snprintf(name, sizeof name, "field-%ld", n);
    int fd = CALL("open", name, NA, NA, NA, open(name, O_RDWR | O_CREAT, 0600));
    CHECK(fd >= 0);
    for (long i = 0; i < 300; i++) {
        size_t size = (size_t)(i * 13 % 4000);
        CALL("write", name, fd, (long)size, NA, write(fd, buffer, size));
        CALL("pread", name, fd, 100, i * 7919, pread(fd, buffer, 100, i * 7919));
        CALL("pwrite", name, fd, (long)size, 1L << (i % 34), pwrite(fd, buffer, size, 1L << (i % 34)));
        CALL("read", NULL, NONE, (long)size, NA, read(-1, buffer, size));
        CALL("lseek", name, fd, NA, -i - 1, lseek(fd, -i - 1, SEEK_SET));
        CALL("access", "absent", NA, NA, NA, access("absent", R_OK));
        CALL("pread", name, fd, 10, -1, pread(fd, buffer, 10, -1));
    }
    CALL("close", name, fd, NA, NA, close(fd));
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    record_open();
    for (long i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
