// SPDX-License-Identifier: MIT
// main MODE: calls of the library, whose results it prints; the last line is how many calls it made of it that returned.
#include "library.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long calls;

static void say_large(struct large x)
{
    for (int i = 0; i < 12; i++)
        printf("%ld ", x.a[i]);
    printf("%a\n", x.b);
}

static void signatures(void)
{
    struct large a = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 0.125}, b = {{-1, 5}, 3};
    errno = 77;
    printf("%d\n", lib_none());
    printf("%ld\n", lib_ints(-1, 1L << 40, -3, 'x', 4000000000u, (void *)0x1234));
    printf("%ld\n", lib_many(1, 2, 3, 4, 5, 6, 7, 8, -9, 10.5, 'k'));
    printf("%a\n", lib_doubles(1.5, 2.5f, 3.5, 4.5, 5.5f, 6.5, 7.5, 8.5, 9.5, 10.5));
    printf("%La\n", lib_long_double(1.25L, 3, 1e-20L));
    struct small s = lib_small((struct small){3, 1.5f}, 4);
    printf("%d %a\n", s.a, (double)s.b);
    struct two_words t = lib_two_words((struct two_words){1.5, 9}, (struct two_words){2.25, 4});
    printf("%a %ld\n", t.a, t.b);
    say_large(lib_large(a, 3, b));
    __int128 wide = lib_int128(((__int128)1 << 70) + 3, -5);
    printf("%llx %llx\n", (unsigned long long)(wide >> 64), (unsigned long long)wide);
    double _Complex z = lib_complex(1.5 + 2.0 * I, 0.5f - 1.0f * I);
    printf("%a %a\n", creal(z), cimag(z));
    long double _Complex zl = lib_complex_long(1.5L + 2.0L * I);
    printf("%La %La\n", creall(zl), cimagl(zl));
    printf("%ld\n", lib_variadic("iidlLdidlllddddddddd", 1, 2, 3.5, 4L, 5.25L, 6.5, 7, 8.25, 9L, 10L, 11L, 1.0, 2.0,
                                 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0));
    printf("%ld\n", lib_variadic(""));
    printf("%d\n", errno);
    printf("%d %d\n", lib_errno(5), errno);
    printf("%s\n", lib_text(2));
    calls += 15;
#ifdef __AVX2__
    double out[4];
    __m256d v = lib_vector(_mm256_set_pd(1.5, 2.5, 3.5, 4.5), _mm256_set_epi32(8, 7, 6, 5, 4, 3, 2, 1), 0.5f,
                           _mm256_set_ps(8, 7, 6, 5, 4, 3, 2, 1));
    _mm256_storeu_pd(out, v);
    printf("%a %a %a %a\n", out[0], out[1], out[2], out[3]);
    calls++;
#endif
}

static int next(int depth)
{
    calls++;
    return lib_recursive(depth, next);
}

static long call_again(void *data)
{
    long *left = data;
    if ((*left)-- == 0)
        return 0;
    calls++;
    return lib_sorted(call_again, data);
}

static void callbacks(void)
{
    long left = 50;
    calls++;
    printf("%d\n", lib_recursive(200, next));
    printf("%ld\n", call_again(&left));
}

static void *thread(void *data)
{
    long n = (long)data, sum = 0;
    for (long i = 0; i < n; i++) {
        long left = i % 7;
        sum += lib_ints((int)i, i, 1, 2, 3, NULL) + lib_sorted(call_again, &left);
    }
    return (void *)sum;
}

static void threads(void)
{
    enum { THREADS = 8, TIMES = 700 };
    pthread_t ids[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&ids[i], NULL, thread, (void *)(long)TIMES);
    for (int i = 0; i < THREADS; i++) {
        void *sum;
        pthread_join(ids[i], &sum);
        printf("%ld\n", (long)sum);
    }
    calls = THREADS * TIMES * (1 + 1 + 3); /* i % 7 is 3 on average */
}

static jmp_buf jump_to;

static long jump_out(void *data)
{
    char deep[64 + 16 * (*(long *)data % 8)];
    memset(deep, 1, sizeof(deep));
    if (deep[(*(long *)data) % 64] == 1)
        longjmp(jump_to, 3);
    return 0;
}

/* Far more than may be running at a time: what is left is found and used again. */
static void jumps(void)
{
    volatile long done = 0, times = 0;
    for (times = 0; times < 20000; times++) {
        int r = setjmp(jump_to);
        if (r == 0 && times % 2 == 0)
            lib_jump(jump_to);
        else if (r == 0)
            lib_sorted(jump_out, (void *)&times);
        done += r;
    }
    printf("%ld\n", done);
    printf("%d\n", lib_none());
    calls = 1;
}

static volatile sig_atomic_t handled;

static void handler(int number)
{
    (void)number;
    if (lib_none() == 42)
        handled++;
}

static void signals(void)
{
    struct sigaction action = {.sa_handler = handler};
    struct itimerval timer = {{0, 100}, {0, 100}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    long made = 0, sum = 0;
    while (handled < 100 && made < 200000) { /* fewer than the ring has room for */
        sum += lib_ints(1, 1, 1, 1, 1, NULL) + (long)lib_doubles(1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
        made += 2;
    }
    timer = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
    printf("%d\n", sum == made / 2 * (39 + 55));
    calls = made + handled;
}

static long fork_inside(void *data)
{
    pid_t child = fork();
    if (child == 0)
        return 1000;
    int status;
    waitpid(child, &status, 0);
    *(int *)data = WEXITSTATUS(status);
    return 1;
}

static void forks(void)
{
    int status = -1;
    long r = lib_sorted(fork_inside, &status);
    if (r == 1001)
        _exit(lib_none() == 42 ? 7 : 8);
    pid_t child = vfork();
    if (child == 0)
        _exit(lib_none());
    int vfork_status;
    waitpid(child, &vfork_status, 0);
    printf("%ld %d %d\n", r, status, WEXITSTATUS(vfork_status));
    calls = 3;
}

static long wait_for_ever(void *data)
{
    pthread_barrier_wait(data);
    for (;;)
        pause();
    return 0;
}

static pthread_barrier_t barrier;

static void note_cleanup(void *data)
{
    ++*(int *)data;
}

static void *cancelled(void *data)
{
    pthread_cleanup_push(note_cleanup, data);
    lib_sorted(wait_for_ever, &barrier);
    pthread_cleanup_pop(0);
    return NULL;
}

static long exit_thread(void *data)
{
    pthread_exit(data);
    return 0;
}

static void *exiting(void *data)
{
    pthread_cleanup_push(note_cleanup, data);
    lib_sorted(exit_thread, data);
    pthread_cleanup_pop(0);
    return NULL;
}

static void ends(void)
{
    int cleanups = 0;
    pthread_t id;
    void *result;
    for (int i = 0; i < 100; i++) {
        pthread_barrier_init(&barrier, NULL, 2);
        pthread_create(&id, NULL, cancelled, &cleanups);
        pthread_barrier_wait(&barrier);
        pthread_cancel(id);
        pthread_join(id, &result);
        cleanups += result == PTHREAD_CANCELED;
        pthread_create(&id, NULL, exiting, &cleanups);
        pthread_join(id, &result);
        cleanups += result == &cleanups;
    }
    printf("%d\n", cleanups);
}

static void deep(void)
{
    printf("%d\n", lib_recursive(6000, next));
    calls++;
}

static void addresses(void)
{
    int (*volatile own)(void) = lib_addressed;
    printf("%d %d %d\n", own == lib_pointer(), own(), lib_addressed());
    calls = 1; /* of lib_pointer; where an address is taken, the function is called as ever */
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {{"signatures", signatures}, {"callbacks", callbacks}, {"threads", threads}, {"jumps", jumps},
                 {"signals", signals},       {"forks", forks},         {"ends", ends},       {"deep", deep},
                 {"addresses", addresses}};
    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(modes[i].name, argv[1]) == 0)
            modes[i].run();
    fflush(stdout);
    dprintf(2, "%ld\n", calls);
    return 0;
}
