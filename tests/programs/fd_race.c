// SPDX-License-Identifier: MIT
// Two threads use the same descriptor numbers again and again, each with files of its own, sizes telling whose.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 5000 };

static void *work(void *argument)
{
    long n = (long)argument;
    char name[2][16], buffer[64] = {0};
    snprintf(name[0], sizeof name[0], "race-%ld-0", n);
    snprintf(name[1], sizeof name[1], "race-%ld-1", n);
    for (int i = 0; i < ROUNDS; i++) {
        int fd = open(name[i & 1], O_WRONLY | O_CREAT, 0600);
        size_t size = (size_t)(n * 10 + (i & 1) + 1);
        if (fd < 0 || write(fd, buffer, size) != (ssize_t)size || close(fd))
            abort();
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
