// SPDX-License-Identifier: MIT
/*
 * Cost of one call: `call WHAT BATCHES THREADS` makes batches of 100 calls in each thread and prints nanoseconds of
 * processor time per call: the quickest batch, the median batch, the mean. WHAT: pread1 (1 byte, tmpfs), pread4k,
 * lseek, fprintf, open (open and close), zlibVersion (a function of a library that does next to nothing). With a fourth argument it stays until its input ends.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { BATCH = 100, THREADS_MAX = 64 };

static long batches;
static const char *what;
static int file;
static const char *path = "/dev/shm/flowtap-bench";

struct cost {
    double least, median, mean;
};

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void run_batch(char *buffer, FILE *sink)
{
    switch (what[0] == 'p' ? what[5] : what[0]) {
    case '1':
        for (int j = 0; j < BATCH; j++)
            (void)!pread(file, buffer, 1, 0);
        break;
    case '4':
        for (int j = 0; j < BATCH; j++)
            (void)!pread(file, buffer, 4096, 4096 * (j & 15));
        break;
    case 'l':
        for (int j = 0; j < BATCH; j++)
            (void)lseek(file, j, SEEK_SET);
        break;
    case 'z':
        for (int j = 0; j < BATCH; j++)
            (void)zlibVersion();
        break;
    case 'f':
        for (int j = 0; j < BATCH; j++)
            fprintf(sink, "%d\n", j);
        break;
    default:
        for (int j = 0; j < BATCH; j++)
            close(open(path, O_RDONLY));
        break;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void *thread(void *out)
{
    char buffer[4096];
    FILE *sink = fopen("/dev/null", "w");
    double *costs = malloc((size_t)batches * sizeof(*costs)), first = cpu_ns(), before = first;
    for (long i = 0; i < batches; i++) {
        run_batch(buffer, sink);
        double now = cpu_ns();
        costs[i] = (now - before) / BATCH;
        before = now;
    }
    qsort(costs, (size_t)batches, sizeof(*costs), compare);
    *(struct cost *)out = (struct cost){costs[0], costs[batches / 2], (before - first) / (double)batches / BATCH};
    free(costs);
    fclose(sink);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    what = argv[1];
    batches = atol(argv[2]);
    int threads = atoi(argv[3]);
    if (threads < 1 || threads > THREADS_MAX || batches < 1 || strlen(what) < 4)
        return 2;
    file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 65536) != 0)
        return 1;
    pthread_t ids[THREADS_MAX];
    struct cost costs[THREADS_MAX], sum = {0};
    for (int i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, thread, &costs[i]);
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        sum.least += costs[i].least;
        sum.median += costs[i].median;
        sum.mean += costs[i].mean;
    }
    printf("%.2f %.2f %.2f\n", sum.least / threads, sum.median / threads, sum.mean / threads);
    fflush(stdout);
    return argc > 4 ? getchar() == 0 : 0; /* stays until its input ends: to look at what it holds */
}
