// SPDX-License-Identifier: MIT
// A library whose constructor starts a thread that makes calls while others still initialise.
// CFLAGS: -fPIC
// LDFLAGS: -shared
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_t threads[4];

static void *work(void *name)
{
    for (int i = 0; i < 200; i++) {
        int fd = open("early", O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (fd < 0 || write(fd, "x", 1) != 1 || close(fd))
            abort();
    }
    return name;
}

__attribute__((constructor)) static void begin(void)
{
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, work, NULL))
            abort();
}

__attribute__((destructor)) static void end(void)
{
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}
