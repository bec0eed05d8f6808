// SPDX-License-Identifier: MIT
/*
 * Cost of a process: `spawn COUNT COMMAND [ARG...]` spawns the command COUNT times, one after the other, and prints
 * microseconds from spawn to wait: the quickest, the median. The variables in FT_BENCH_CHILD_ENV (NAME=VALUE, separated
 * by newlines) are added to the children's environment only, so that this program itself is not traced.
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ENTRIES_MAX = 4096 };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    long count = argc > 2 ? atol(argv[1]) : 0;
    if (count < 1)
        return 2;
    static char *envp[ENTRIES_MAX];
    int n = 0;
    for (; environ[n] != NULL && n < ENTRIES_MAX / 2; n++)
        envp[n] = environ[n];
    char *added = getenv("FT_BENCH_CHILD_ENV");
    for (char *next = added != NULL ? strtok(strdup(added), "\n") : NULL; next != NULL && n < ENTRIES_MAX - 1;
         next = strtok(NULL, "\n"))
        envp[n++] = next;
    double *costs = malloc((size_t)count * sizeof(*costs));
    for (long i = 0; i < count; i++) {
        double before = now_us();
        pid_t pid;
        int status;
        if (posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, envp) != 0 || waitpid(pid, &status, 0) != pid)
            return 1;
        costs[i] = now_us() - before;
    }
    qsort(costs, (size_t)count, sizeof(*costs), compare);
    printf("%.1f %.1f\n", costs[0], costs[count / 2]);
    return 0;
}
