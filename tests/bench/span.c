// SPDX-License-Identifier: MIT
/*
 * Cost of a span: `span WHAT BATCHES` makes batches of 1000 and prints nanoseconds of processor time of each: the quickest
 * batch, the median batch. WHAT: nothing (the loop alone), span (around nothing), args (with two arguments).
 */
// LDFLAGS: -lflowtap
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <flowtap.h>

enum { BATCH = 1000 };

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void run_batch(char what)
{
    for (long i = 0; i < BATCH; i++) {
        if (what == 's') {
            FLOWTAP_SCOPE("bench", "span");
            __asm__ volatile("" : : : "memory");
        } else if (what == 'a') {
            FLOWTAP_SPAN(span, "bench", "span");
            flowtap_arg_integer(&span, "number", i);
            flowtap_arg_double(&span, "rate", 0.5);
            __asm__ volatile("" : : : "memory");
        } else {
            __asm__ volatile("" : : : "memory");
        }
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    long batches = argc == 3 ? atol(argv[2]) : 0;
    if (batches < 1)
        return 2;
    double *costs = malloc((size_t)batches * sizeof(*costs)), before = cpu_ns();
    for (long i = 0; costs != NULL && i < batches; i++) {
        run_batch(argv[1][0]);
        double now = cpu_ns();
        costs[i] = (now - before) / BATCH;
        before = now;
    }
    if (costs == NULL)
        return 1;
    qsort(costs, (size_t)batches, sizeof(*costs), compare);
    printf("%.2f %.2f\n", costs[0], costs[batches / 2]);
    free(costs);
    return 0;
}
