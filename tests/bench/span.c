// SPDX-License-Identifier: MIT
/*
 * Cost of a span: `span WHAT BATCHES` makes batches of 1000 and prints nanoseconds of processor time of each: the quickest
 * batch, the median batch. WHAT: nothing (the loop alone), span (around nothing), args (with two arguments).
 * Built with WITH_DFTRACER (tests/bench/run does so where that is installed) it makes the same spans by dftracer, which
 * writes them to FT_BENCH_LOG.
 */
// LDFLAGS: -lflowtap
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef WITH_DFTRACER
#include <dftracer/dftracer.h>
#else
#include <flowtap.h>
#endif

enum { BATCH = 1000 };

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#ifdef WITH_DFTRACER

/* It has no arguments that are no integers or texts. */
static void make_span(void)
{
    DFTRACER_C_REGION_START(span)
    __asm__ volatile("" : : : "memory");
    DFTRACER_C_REGION_END(span)
}

static void make_span_with_args(long i)
{
    DFTRACER_C_REGION_START(span)
    DFTRACER_C_REGION_UPDATE_INT(span, "number", (int)i)
    DFTRACER_C_REGION_UPDATE_STR(span, "rate", "0.5")
    __asm__ volatile("" : : : "memory");
    DFTRACER_C_REGION_END(span)
}

#else

static void make_span(void)
{
    FLOWTAP_SCOPE("bench", "span");
    __asm__ volatile("" : : : "memory");
}

static void make_span_with_args(long i)
{
    FLOWTAP_SPAN(span, "bench", "span");
    flowtap_arg_integer(&span, "number", i);
    flowtap_arg_double(&span, "rate", 0.5);
    __asm__ volatile("" : : : "memory");
}

#endif

static void run_batch(char what)
{
    for (long i = 0; i < BATCH; i++) {
        if (what == 's') {
            make_span();
        } else if (what == 'a') {
            make_span_with_args(i);
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
#ifdef WITH_DFTRACER
    initialize_no_bind(getenv("FT_BENCH_LOG"), "all", NULL);
#endif
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
#ifdef WITH_DFTRACER
    finalize();
#endif
    return 0;
}
