// SPDX-License-Identifier: MIT
// refused_beside: two threads try again and again to put in a filter, which is refused, while another forks, and executes with
// an environment that is empty. What they try is none of its business.
#define _GNU_SOURCE
#include "counted.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { TRYING = 2, FORKS = 200, EXECS = 20 };

static atomic_int is_over;
static atomic_long refusals;

static void *try_on(void *unused)
{
    while (!is_over) {
        CHECKED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) != 0);
        CHECKED(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) != 0);
        refusals++;
    }
    return unused;
}

static void waited(pid_t pid, const char *name)
{
    int status = 1;
    CHECKED(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    atomic_fetch_add(counted_of(name), 1);
}

static void fork_one(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        counted_touch("forked");
        _exit(0);
    }
    waited(pid, "forked");
}

static void execute_one(void)
{
    char *none[] = {NULL};
    pid_t pid = vfork();
    if (pid == 0) {
        execle("/bin/touch", "touch", "executed", (char *)NULL, none);
        _exit(9);
    }
    waited(pid, "executed");
}

int main(void)
{
    pthread_t threads[TRYING];
    counted_of("forked");
    counted_of("executed");
    for (int i = 0; i < TRYING; i++)
        CHECKED(pthread_create(&threads[i], NULL, try_on, NULL) == 0);
    while (refusals == 0)
        sched_yield();
    for (int i = 0; i < FORKS; i++) {
        fork_one();
        if (i % (FORKS / EXECS) == 0)
            execute_one();
    }
    is_over = 1;
    for (int i = 0; i < TRYING; i++)
        CHECKED(pthread_join(threads[i], NULL) == 0);
    counted_print();
    return 0;
}
