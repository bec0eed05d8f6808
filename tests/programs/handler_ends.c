// SPDX-License-Identifier: MIT
// handler_ends HOW [N]: N calls, then a handler that makes calls and ends its thread or the process, or executes another.
#define _GNU_SOURCE
#include "counted.h"

#include <pthread.h>
#include <signal.h>

static long wanted = 100;

static void on(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    CHECKED(sigaction(number, &action, NULL) == 0);
}

static void exit_thread_handler(int unused)
{
    (void)unused;
    counted_touch("handler");
    pthread_exit(NULL);
}

/* The signal is blocked but where it waits: a call that the handler ended in the middle would be made and not counted. */
static void *sleeper(void *unused)
{
    sigset_t none;
    sigemptyset(&none);
    counted_touch("main");
    for (;;)
        sigsuspend(&none);
    return unused;
}

static void threads_end_in_handler(void)
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGUSR1);
    CHECKED(pthread_sigmask(SIG_BLOCK, &ending, NULL) == 0);
    on(SIGUSR1, exit_thread_handler, 0);
    for (long i = 0; i < wanted; i++) {
        pthread_t t;
        CHECKED(pthread_create(&t, NULL, sleeper, NULL) == 0 && pthread_kill(t, SIGUSR1) == 0);
        CHECKED(pthread_join(t, NULL) == 0);
    }
}

/* Ends of the whole process; what was counted is printed before. */
static void exit_handler(int unused)
{
    (void)unused;
    counted_touch("handler");
    counted_print();
    exit(4);
}

static void end_handler(int unused)
{
    (void)unused;
    counted_touch("handler");
    counted_print();
    _exit(4);
}

static void exec_handler(int unused)
{
    (void)unused;
    counted_touch("handler");
    counted_print();
    execl("/bin/sh", "sh", "-c", "echo x > after; exit 4", (char *)NULL);
}

static void ends(void (*handler)(int))
{
    on(SIGUSR1, handler, 0);
    for (long i = 0; i < wanted; i++)
        counted_touch("main");
    raise(SIGUSR1);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    counted_of("main");
    counted_of("handler");
    wanted = argc > 2 ? atol(argv[2]) : wanted;
    if (!strcmp(how, "exit"))
        ends(exit_handler);
    if (!strcmp(how, "_exit"))
        ends(end_handler);
    if (!strcmp(how, "exec"))
        ends(exec_handler);
    threads_end_in_handler();
    counted_print();
    return 0;
}
