// SPDX-License-Identifier: MIT
// fork_many ROUNDS: 16 threads fork at the same time, and again. Each child touches a file in a handler of pthread_atfork, when
// fork has not returned, and one afterwards.
#define _GNU_SOURCE
#include "counted.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

enum { THREADS = 16 };

static long rounds;
static atomic_long entering; // of all rounds
static pthread_barrier_t all;

/* Where forks wait for each other in the C library, the others do so meanwhile. */
static void wait_for_all(void)
{
    long this_round = (atomic_load(&entering) + THREADS - 1) / THREADS;
    while (atomic_load(&entering) < this_round * THREADS)
        sched_yield();
    for (int i = 0; i < 100; i++)
        sched_yield();
}

static void touch_in_child(void)
{
    counted_touch("inside");
}

static void *fork_on(void *unused)
{
    for (long i = 0; i < rounds; i++) {
        int status = 1;
        pthread_barrier_wait(&all);
        atomic_fetch_add(&entering, 1);
        pid_t pid = fork();
        if (pid == 0) {
            counted_touch("own");
            _exit(0);
        }
        CHECKED(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
        atomic_fetch_add(counted_of("inside"), 1);
        atomic_fetch_add(counted_of("own"), 1);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    rounds = argc > 1 ? atol(argv[1]) : 20;
    counted_of("inside");
    counted_of("own");
    pthread_barrier_init(&all, NULL, THREADS);
    CHECKED(pthread_atfork(wait_for_all, NULL, touch_in_child) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECKED(pthread_create(&threads[i], NULL, fork_on, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECKED(pthread_join(threads[i], NULL) == 0);
    counted_print();
    return 0;
}
