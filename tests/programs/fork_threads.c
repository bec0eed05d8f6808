// SPDX-License-Identifier: MIT
// fork_threads N: 8 threads open, write and close while main forks N times; each child opens, writes and ends by _exit.
// The handlers of pthread_atfork do I/O too. Prints what the threads wrote.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int stop;
static atomic_long written;

static void touch(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1)
        abort();
    close(fd);
}

static void before_fork(void)
{
    touch("prepare");
}

static void in_child(void)
{
    touch("atfork-child");
}

static void *work(void *argument)
{
    char name[32];
    snprintf(name, sizeof name, "thread-%ld", (long)argument);
    while (!atomic_load(&stop)) {
        touch(name);
        atomic_fetch_add(&written, 1);
        for (volatile int i = 0; i < 100000; i++)
            ;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 100;
    pthread_t threads[8];
    pthread_atfork(before_fork, NULL, in_child);
    for (long i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < count; i++) {
        int status = 0;
        pid_t pid = fork();
        if (pid < 0)
            return 2;
        if (pid == 0) {
            touch("children");
            _exit(5);
        }
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 5)
            return 3;
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", (long)written);
    return 0;
}
