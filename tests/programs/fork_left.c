// SPDX-License-Identifier: MIT
// fork_left HOW: a jump leaves a fork before there is a child: out of a handler that interrupts it (handler), or out of a handler
// of pthread_atfork (atfork). Deeper on the stack than that fork was, raw forks follow: of a child that is alone, and of one that
// has a thread before its first call.
#define _GNU_SOURCE
#include "counted.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const char *how;
static sigjmp_buf back;

static void leave(int unused)
{
    (void)unused;
    siglongjmp(back, 1);
}

static void prepare(void)
{
    if (strcmp(how, "handler") == 0)
        raise(SIGUSR1);
    leave(0);
}

static void *wait_for_ever(void *never)
{
    while (sem_wait(never) != 0)
        ;
    return NULL;
}

static void fork_raw(const char *name, int has_thread)
{
    int status = 1;
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        static sem_t never;
        pthread_t thread;
        if (has_thread)
            CHECKED(sem_init(&never, 0, 0) == 0 && pthread_create(&thread, NULL, wait_for_ever, &never) == 0);
        counted_touch(name);
        _exit(0);
    }
    CHECKED(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void __attribute__((noinline)) fork_deeper(void)
{
    volatile char room[16384];
    room[0] = 0;
    fork_raw("alone", room[0]);
    fork_raw("threaded", 1);
}

int main(int argc, char **argv)
{
    const struct sigaction action = {.sa_handler = leave};
    how = argc > 1 ? argv[1] : "handler";
    counted_of("main");
    CHECKED(sigaction(SIGUSR1, &action, NULL) == 0 && pthread_atfork(prepare, NULL, NULL) == 0);
    if (sigsetjmp(back, 1) == 0) {
        fork();
        abort();
    }
    counted_touch("main");
    fork_deeper();
    counted_touch("main");
    counted_print();
    return 0;
}
