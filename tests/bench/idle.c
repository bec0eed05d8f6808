// SPDX-License-Identifier: MIT
/*
 * Idle processes: `idle COUNT THREADS` forks COUNT children; each starts threads until it has THREADS, each thread makes
 * a call, and then nothing happens any more. Prints a line once all are there, and ends them when its input ends.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { THREADS_MAX = 64 };

static int ready[2];

static void say_ready(void)
{
    if (write(ready[1], "", 1) != 1)
        _exit(1);
}

static void *rest(void *unused)
{
    say_ready();
    while (pause() == -1)
        continue;
    return unused;
}

static void be_idle(int threads)
{
    pthread_t id;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 1; i < threads; i++)
        if (pthread_create(&id, NULL, rest, NULL) != 0)
            _exit(1);
    rest(NULL);
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[1]) : 0, threads = argc > 2 ? atoi(argv[2]) : 0;
    char byte;
    if (count < 1 || threads < 1 || threads > THREADS_MAX || pipe(ready) != 0)
        return 2;
    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return 1;
        if (pid == 0)
            be_idle(threads);
    }
    for (int i = 0; i < count * threads; i++)
        if (read(ready[0], &byte, 1) != 1)
            return 1;
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    return 0; /* the children end with it */
}
