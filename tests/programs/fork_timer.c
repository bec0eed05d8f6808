// SPDX-License-Identifier: MIT
// fork_timer FORKS [main]: two threads seek without end; a 1 kHz timer's handler forks in the second thread (or main),
// and the child comes back from the handler into the call that was interrupted, makes 50 more and a file of its own.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int forks, wanted, is_child;

static void on_tick(int unused)
{
    (void)unused;
    if (is_child || atomic_fetch_add(&forks, 1) >= wanted)
        return;
    pid_t pid = fork();
    if (pid == 0)
        is_child = 1;
    else if (pid < 0)
        abort();
}

static void finish_child(int fd)
{
    char name[32];
    for (int i = 0; i < 50; i++)
        if (pwrite(fd, "x", 1, i) != 1)
            abort();
    snprintf(name, sizeof name, "child-%d", (int)getpid());
    int own = open(name, O_WRONLY | O_CREAT, 0600);
    if (own < 0 || write(own, "own", 3) != 3)
        abort();
    _exit(0);
}

static void *work(void *name)
{
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    // the last child may come back to the loop's condition, which holds no more
    while (!is_child && forks < wanted) {
        lseek(fd, 0, SEEK_SET);
        for (volatile int i = 0; i < 500; i++)
            ;
    }
    if (is_child)
        finish_child(fd);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    wanted = argc > 1 ? atoi(argv[1]) : 100;
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    if (pthread_create(&thread, NULL, work, "first"))
        return 1;
    if (argc <= 2)
        pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    work("second");
    setitimer(ITIMER_REAL, &never, NULL);
    pthread_join(thread, NULL);
    while (wait(NULL) > 0)
        ;
    return 0;
}
