// SPDX-License-Identifier: MIT
// interrupted HOW N: N rounds of calls, which SIGUSR1 may interrupt anywhere; prints a line of counts for each process.
//   io: the handler makes calls      jump: and leaves by siglongjmp      fork: and forks a child that goes on as the parent does
//   fork-exit: and forks a child that ends in the handler      end-thread: and ends its thread; main makes the rounds again
#define _GNU_SOURCE
#include "counted.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char *how;
static sigjmp_buf back;
static volatile sig_atomic_t is_child;
static pid_t child;

static void fork_one(void)
{
    child = fork();
    CHECKED(child >= 0);
    if (child == 0) {
        is_child = 1;
        for (int i = 0; counted[i].name != NULL; i++)
            atomic_store(&counted[i].count, 0);
        for (int i = 0; i < 40; i++)
            counted_touch("child");
        if (!strcmp(how, "fork-exit"))
            _exit(0);
    }
}

static void handler(int unused)
{
    (void)unused;
    for (int i = 0; i < 40; i++)
        counted_touch("handler");
    if (!strncmp(how, "fork", 4))
        fork_one();
    if (!strcmp(how, "jump"))
        siglongjmp(back, 1);
    if (!strcmp(how, "end-thread"))
        pthread_exit(NULL);
}

static void rounds(volatile long count)
{
    struct stat status;
    int fd = open("seeks", O_RDWR | O_CREAT, 0600);
    sigsetjmp(back, 1);
    while (count-- > 0) {
        for (int i = 0; i < 30; i++)
            lseek(fd, i, SEEK_SET);
        counted_touch("main");
        stat("absent", &status);
    }
}

static void *rounds_in_thread(void *count)
{
    rounds((long)count);
    return NULL;
}

int main(int argc, char **argv)
{
    how = argc > 1 ? argv[1] : "io";
    counted_of("main");
    counted_of("handler");
    counted_of("child");
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    CHECKED(sigaction(SIGUSR1, &action, NULL) == 0);
    long count = argc > 2 ? atol(argv[2]) : 100;
    pthread_t thread;
    if (!strcmp(how, "end-thread"))
        CHECKED(pthread_create(&thread, NULL, rounds_in_thread, (void *)count) == 0 && pthread_join(thread, NULL) == 0);
    rounds(count);
    counted_print();
    int status = 0;
    if (!is_child && child > 0)
        CHECKED(waitpid(child, &status, 0) == child && status == 0);
    return 0;
}
