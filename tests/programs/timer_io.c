// SPDX-License-Identifier: MIT
// timer_io TICKS [jump]: a 1 kHz timer whose handler opens, writes and closes, over a main loop of lseek and 4 threads
// that write. With `jump` the handler leaves by siglongjmp. Prints how many calls of each kind were made.
// All loop fast for what the ring holds by itself, and slowly from then on (not for more than FEW ticks): the timer may come
// late, and the daemon too.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { FAST_SEEKS = 40000, FAST_WRITES = 10000, SLOWER = 100, FEW = 1000 };
static volatile sig_atomic_t ticks, wanted, jumps;
static volatile long seeks, writes_of_threads[4];
static atomic_int stop;
static sigjmp_buf back;

static void handler(int unused)
{
    (void)unused;
    if (ticks >= wanted)
        return;
    int fd = open("handler", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || write(fd, "h", 1) != 1 || close(fd))
        abort();
    ticks++;
    if (jumps)
        siglongjmp(back, 1);
}

static int is_fast(long done, long most)
{
    return done < most || wanted > FEW;
}

static void *work(void *argument)
{
    long n = (long)argument;
    int fd = open("threads", O_WRONLY | O_CREAT | O_APPEND, 0600);
    while (!atomic_load(&stop)) {
        if (write(fd, "t", 1) != 1)
            abort();
        writes_of_threads[n]++;
        for (volatile int i = 0; i < (is_fast(writes_of_threads[n], FAST_WRITES) ? 20000 : 20000 * SLOWER); i++)
            ;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[4];
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    wanted = argc > 1 ? atoi(argv[1]) : 1000;
    jumps = argc > 2 && !strcmp(argv[2], "jump");
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    int fd = open("main", O_RDWR | O_CREAT, 0600);
    sigaction(SIGALRM, &action, NULL);
    if (sigsetjmp(back, 1) == 0)
        setitimer(ITIMER_REAL, &often, NULL);
    while (ticks < wanted) {
        lseek(fd, 0, SEEK_SET);
        seeks++;
        for (volatile int i = 0; i < (is_fast(seeks, FAST_SEEKS) ? 2000 : 2000 * SLOWER); i++)
            ;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    atomic_store(&stop, 1);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("{\"ticks\": %d, \"seeks\": %ld, \"writes\": %ld}\n", (int)ticks, seeks,
           writes_of_threads[0] + writes_of_threads[1] + writes_of_threads[2] + writes_of_threads[3]);
    return 0;
}
