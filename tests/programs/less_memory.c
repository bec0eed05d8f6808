// SPDX-License-Identifier: MIT
// less_memory HOW: takes memory away from itself while threads write, then uses nearly all that it may.
//   setrlimit, prlimit: 24 MB of address space, of which 8 are mapped     lock: mlockall, again and again
#define _GNU_SOURCE
#include "counted.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { THREADS = 4 };
static atomic_int stop;
static atomic_long done;

static void *work(void *unused)
{
    char c;
    int fd = open("/proc/self/exe", O_RDONLY);
    while (!atomic_load(&stop)) {
        for (int i = 0; i < 100; i++)
            CHECKED(pread(fd, &c, 1, 0) == 1);
        atomic_fetch_add(&done, 100);
    }
    return unused;
}

static void until_done(long more)
{
    long before = atomic_load(&done);
    while (atomic_load(&done) < before + more)
        sched_yield();
}

static void use_nearly_all(void)
{
    char *memory = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECKED(memory != MAP_FAILED);
    memset(memory, 1, 8 << 20);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "setrlimit";
    pthread_t threads[THREADS];
    pthread_attr_t small;
    mallopt(M_ARENA_MAX, 1);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (int i = 0; i < THREADS; i++)
        CHECKED(pthread_create(&threads[i], &small, work, NULL) == 0);
    until_done(20000);
    struct rlimit limit = {24 << 20, 24 << 20};
    if (!strcmp(how, "setrlimit"))
        CHECKED(setrlimit(RLIMIT_AS, &limit) == 0);
    if (!strcmp(how, "prlimit"))
        CHECKED(prlimit(getpid(), RLIMIT_AS, &limit, NULL) == 0);
    for (int i = 0; !strcmp(how, "lock") && i < 50; i++) {
        CHECKED(mlockall(i % 2 ? MCL_CURRENT : MCL_CURRENT | MCL_FUTURE) == 0);
        until_done(1000);
        CHECKED(munlockall() == 0);
    }
    use_nearly_all();
    until_done(20000);
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++)
        CHECKED(pthread_join(threads[i], NULL) == 0);
    printf("%ld\n", atomic_load(&done));
    return 0;
}
