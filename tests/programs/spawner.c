// SPDX-License-Identifier: MIT
/*
 * spawner RATE: until SIGTERM, RATE times a second a child that executes /bin/true; every tenth is killed at once. Prints
 * the pid of each child, one a line, and ends when all have ended.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t must_end;

static void on_term(int number)
{
    (void)number;
    must_end = 1;
}

int main(int argc, char **argv)
{
    int rate = argc > 1 ? atoi(argv[1]) : 50;
    struct sigaction action = {.sa_handler = on_term};
    sigaction(SIGTERM, &action, NULL);
    for (int i = 0; !must_end; i++) {
        pid_t child = fork();
        if (child == 0) {
            execl("/bin/true", "true", (char *)NULL);
            _exit(127);
        }
        if (child < 0)
            return 1;
        if (i % 10 == 9)
            kill(child, SIGKILL);
        printf("%d\n", child);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        nanosleep(&(struct timespec){.tv_nsec = 1000000000 / rate}, NULL);
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}
