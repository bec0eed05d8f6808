// SPDX-License-Identifier: MIT
// hammer THREADS N [wait]: each thread opens a file, makes N preads of one byte, closes: THREADS * (N + 2) calls, nothing
// else. With `wait` it says "ready", and starts them at a line of its input.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int count;

static void *work(void *unused)
{
    char c;
    int fd = open("/proc/self/exe", O_RDONLY);
    for (int i = 0; i < count; i++)
        if (pread(fd, &c, 1, 0) != 1)
            abort();
    close(fd);
    return unused;
}

int main(int argc, char **argv)
{
    static pthread_t threads[1024];
    int n = argc > 1 ? atoi(argv[1]) : 1;
    count = argc > 2 ? atoi(argv[2]) : 1000;
    if (argc > 3 && (puts("ready") < 0 || fflush(stdout) != 0 || getchar() == EOF))
        return 2;
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, work, NULL))
            return 1;
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
