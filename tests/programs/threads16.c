// SPDX-License-Identifier: MIT
// 16 threads, each with a file of its own and one that all share: pread, pwrite, read, write, opens; known counts.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int shared;

static void *work(void *argument)
{
    long n = (long)argument;
    char name[32], buffer[256] = {0};
    snprintf(name, sizeof name, "own-%ld", n);
    for (int round = 0; round < 3; round++) {
        int fd = open(name, O_RDWR | O_CREAT, 0600);
        if (fd < 0)
            abort();
        for (int i = 0; i < 20 + (int)n; i++)
            if (write(fd, buffer, 100) != 100 || pwrite(shared, buffer, 10, n * 1000 + i) != 10)
                abort();
        if (lseek(fd, 0, SEEK_SET))
            abort();
        while (read(fd, buffer, 64) > 0)
            ;
        for (int i = 0; i < 5; i++)
            if (pread(shared, buffer, 5, n * 1000) != 5)
                abort();
        close(fd);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[16];
    shared = open("shared", O_RDWR | O_CREAT, 0600);
    for (long i = 0; i < 16; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 16; i++)
        pthread_join(threads[i], NULL);
    return close(shared);
}
