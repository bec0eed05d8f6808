// SPDX-License-Identifier: MIT
// I/O at the ends of things: destructors of thread keys that re-arm themselves, atexit, a destructor of the program.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_key_t key;

static void touch(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1 || close(fd))
        abort();
}

static void at_end(void *value)
{
    char name[32];
    long round = (long)value;
    snprintf(name, sizeof name, "round-%ld", round);
    touch(name);
    if (round < 4)
        pthread_setspecific(key, (void *)(round + 1));
}

static void *work(void *unused)
{
    pthread_setspecific(key, (void *)1);
    return unused;
}

static void late(void)
{
    touch("atexit");
}

__attribute__((destructor)) static void latest(void)
{
    touch("destructor");
}

__attribute__((constructor)) static void first(void)
{
    touch("constructor");
}

int main(void)
{
    pthread_t t;
    pthread_key_create(&key, at_end);
    atexit(late);
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    return 0;
}
