// SPDX-License-Identifier: MIT
// many_threads N: N threads alive at once and detached, each opens, writes and closes once; then 2000 one after the
// other. Prints how much memory of its own the program had before and after the second half of those, in kB.
#define _GNU_SOURCE
#include "counted.h"

#include <pthread.h>
#include <stdint.h>

static pthread_barrier_t all;
static atomic_int over;

static void *one(void *unused)
{
    counted_touch("at once");
    pthread_barrier_wait(&all);
    atomic_fetch_add(&over, 1);
    return unused;
}

static void *next(void *unused)
{
    counted_touch("in turn");
    return unused;
}

static long resident(void)
{
    char text[4096];
    int fd = open("/proc/self/smaps_rollup", O_RDONLY); /* counted page by page; RssAnon is an estimate */
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *at = strstr(text, "Anonymous:");
    return at ? atol(at + 10) : -1;
}

static void in_turn(pthread_attr_t *small, int count)
{
    for (int i = 0; i < count; i++) {
        pthread_t t;
        CHECKED(pthread_create(&t, small, next, NULL) == 0 && pthread_join(t, NULL) == 0);
    }
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 100;
    pthread_attr_t small;
    counted_of("at once");
    counted_of("in turn");
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&all, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++) {
        pthread_t t;
        CHECKED(pthread_create(&t, &small, one, NULL) == 0);
        CHECKED(pthread_detach(t) == 0);
    }
    pthread_barrier_wait(&all);
    while (atomic_load(&over) < count)
        sched_yield();
    in_turn(&small, 1000);
    long before = resident();
    in_turn(&small, 1000);
    dprintf(1, "%ld %ld\n", before, resident());
    counted_print();
    return 0;
}
