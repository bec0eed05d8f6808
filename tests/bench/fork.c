// SPDX-License-Identifier: MIT
/*
 * Cost of attaching, seen from inside: `fork COUNT` forks COUNT children, one after the other, and prints microseconds
 * of processor time that the child has used when fork() returns in it: the least, the median. What a traced run takes
 * more is the child's attaching, memfd to close.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 0;
    if (count < 1)
        return 2;
    double *costs = malloc((size_t)count * sizeof(*costs));
    double *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            *shared = cpu_us();
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, NULL, 0) != pid)
            return 1;
        costs[i] = *shared;
    }
    qsort(costs, (size_t)count, sizeof(*costs), compare);
    printf("%.1f %.1f\n", costs[0], costs[count / 2]);
    return 0;
}
