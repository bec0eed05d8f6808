// SPDX-License-Identifier: MIT
// thread_churn N: N threads one after the other, four alive at a time, one write each.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int fd;

static void *one(void *unused)
{
    if (write(fd, "x", 1) != 1)
        abort();
    return unused;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1000;
    pthread_t threads[4];
    fd = open("churn", O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (int i = 0; i < count; i++) {
        if (i >= 4)
            pthread_join(threads[i % 4], NULL);
        if (pthread_create(&threads[i % 4], NULL, one, NULL))
            return 1;
    }
    for (int i = count < 4 ? count : 4; i > 0; i--)
        pthread_join(threads[(count - i) % 4], NULL);
    return 0;
}
