// SPDX-License-Identifier: MIT
// opener PLUGIN TIMES HOW: opens the plugin, lets it call the library ten times and closes it again, TIMES times. HOW:
// N threads, of which each after the first has its own, PLUGIN.1 and so on; "forking": another one is within fork() at each dlopen; "ended": the first thread is gone;
// "cancelled": before each dlopen another thread is cancelled in forkpty; "crowd-cancelled": so many are at a time;
// "ended-cancelled": so the first one has ended;
// "starved": there is no memory when the symbol is asked for first; "cramped": there is a little.
#include <dlfcn.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS_MAX = 16, CRAMPED = 64 << 10, CROWD = 20 };
static const char *plugin;
static long times;
static int forks, cancels, is_starved, is_cramped, begun[2], opened_too[2];
static pthread_t forker, first;
static pthread_barrier_t left; // by all that are cancelled in forkpty at a time

static void wait_in_fork(void)
{
    char byte = 0;
    if (write(begun[1], &byte, 1) != 1 || read(opened_too[0], &byte, 1) != 1)
        abort();
}

static void *fork_once(void *data)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    if (waitpid(child, NULL, 0) != child)
        abort();
    return data;
}

static void begin_fork(void)
{
    char byte;
    if (pthread_create(&forker, NULL, fork_once, NULL) != 0 || read(begun[0], &byte, 1) != 1)
        abort();
}

static void end_fork(void)
{
    char byte = 0;
    if (write(opened_too[1], &byte, 1) != 1 || pthread_join(forker, NULL) != 0)
        abort();
}

static void wait_for_crowd(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&left);
}

static void *cancelled_in_forkpty(void *data)
{
    int side;
    *(long *)data = syscall(SYS_gettid);
    pthread_cleanup_push(wait_for_crowd, NULL);
    pthread_cancel(pthread_self());
    forkpty(&side, NULL, NULL, NULL);
    pthread_cleanup_pop(0);
    abort();
    return data;
}

static void cancel_forks(void)
{
    pthread_t threads[CROWD];
    void *end = NULL;
    long tids[CROWD] = {0};
    for (int i = 0; i < cancels; i++)
        if (pthread_create(&threads[i], NULL, cancelled_in_forkpty, &tids[i]) != 0)
            abort();
    for (int i = 0; i < cancels; i++)
        if (pthread_join(threads[i], &end) != 0 || end != PTHREAD_CANCELED)
            abort();
    for (int i = 0; i < cancels; i++)
        while (syscall(SYS_tgkill, getpid(), tids[i], 0) == 0)
            sched_yield(); /* the kernel has it a little longer */
}

static void limit_memory(unsigned long bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0)
        abort();
    limit.rlim_cur = bytes;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        abort();
}

static unsigned long memory_in_use(void)
{
    unsigned long pages = 0;
    FILE *sizes = fopen("/proc/self/statm", "r");
    if (sizes == NULL || fscanf(sizes, "%lu", &pages) != 1 || fclose(sizes) != 0)
        abort();
    return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

/* As if another had taken it all just now. */
static void ask_without_memory(void *opened)
{
    for (int i = 0; i < 2; i++) /* the first limit gives back what the tracer holds in reserve */
        limit_memory(is_cramped ? memory_in_use() + CRAMPED : 1);
    dlsym(opened, "plugin_run");
    limit_memory(RLIM_INFINITY);
}

static void *run(void *data)
{
    long sum = 0;
    const char *own = data != NULL ? data : plugin;
    for (long i = 0; i < times; i++) {
        if (forks)
            begin_fork();
        if (cancels)
            cancel_forks();
        void *opened = dlopen(own, i % 2 ? RTLD_NOW : RTLD_LAZY);
        if (forks)
            end_fork();
        if (is_starved || is_cramped)
            ask_without_memory(opened);
        long (*call)(int) = opened != NULL ? (long (*)(int))dlsym(opened, "plugin_run") : NULL;
        if (call == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            exit(1);
        }
        sum += call(5);
        dlclose(opened);
    }
    return (void *)sum;
}

static void tell(long own, long other, int threads)
{
    printf("%ld %ld\n", own, other);
    fflush(stdout);
    fprintf(stderr, "%ld\n", 10 * times * threads);
}

static void *run_alone(void *data)
{
    char byte;
    pthread_join(first, NULL);
    while (readlink("/proc/self/exe", &byte, 1) == 1)
        sched_yield();
    tell((long)run(data), 0, 1);
    exit(0);
}

int main(int argc, char **argv)
{
    pthread_t other;
    if (argc < 4)
        return 2;
    plugin = argv[1];
    times = atol(argv[2]);
    first = pthread_self();
    cancels = strcmp(argv[3], "cancelled") == 0 ? 1 : strcmp(argv[3], "crowd-cancelled") == 0 ? CROWD : 0;
    pthread_barrier_init(&left, NULL, cancels ? (unsigned)cancels : 1);
    if (strncmp(argv[3], "ended", 5) == 0) {
        pthread_create(&other, NULL, run_alone, NULL);
        if (strcmp(argv[3], "ended-cancelled") == 0)
            cancelled_in_forkpty(&(long){0});
        pthread_exit(NULL);
    }
    forks = strcmp(argv[3], "forking") == 0;
    is_starved = strcmp(argv[3], "starved") == 0;
    is_cramped = strcmp(argv[3], "cramped") == 0;
    if (forks && (pipe(begun) != 0 || pipe(opened_too) != 0 || pthread_atfork(wait_in_fork, NULL, NULL) != 0))
        return 2;
    int threads = atoi(argv[3]) > 0 ? atoi(argv[3]) : 1;
    pthread_t others[THREADS_MAX];
    long sum = 0;
    for (int i = 1; i < threads; i++) {
        char *name = NULL;
        if (asprintf(&name, "%s.%d", plugin, i) < 0 || pthread_create(&others[i], NULL, run, name) != 0)
            abort();
    }
    long own = (long)run((void *)(uintptr_t)plugin);
    for (int i = 1; i < threads; i++) {
        void *one = NULL;
        pthread_join(others[i], &one);
        sum += (long)one;
    }
    tell(own, sum, threads);
    return 0;
}
