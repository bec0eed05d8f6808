// SPDX-License-Identifier: MIT
// first_ended HOW: the first thread ends, by pthread_exit, or (HOW with -cancelled behind) cancelled in forkpty; another one goes
// on without it: makes calls, threads and children, and ends by HOW (return, exit, _exit, exec, kill, pthread_exit).
#define _GNU_SOURCE
#include "counted.h"

#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const char *how;
static pthread_t first;

static void waited(pid_t pid, int want, const char *name)
{
    int status = 0;
    CHECKED(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == want);
    atomic_fetch_add(counted_of(name), 1);
}

static void touch_and_end(const char *name, int status)
{
    counted_touch(name);
    _exit(status);
}

static void *touch_in_thread(void *name)
{
    counted_touch(name);
    return NULL;
}

static void make_children(void)
{
    pid_t pid = fork();
    if (pid == 0)
        touch_and_end("forked", 3);
    waited(pid, 3, "forked");
    pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        touch_and_end("raw", 4);
    waited(pid, 4, "raw");
    pid = vfork();
    if (pid == 0) {
        execl("/bin/cat", "cat", "forked", (char *)NULL);
        _exit(9);
    }
    waited(pid, 0, "executed");
}

static void end(void)
{
    if (!strncmp(how, "exit", 4))
        exit(5);
    if (!strncmp(how, "_exit", 5))
        _exit(5);
    if (!strncmp(how, "exec", 4))
        execl("/bin/cat", "cat", "raw", (char *)NULL);
    if (!strncmp(how, "kill", 4))
        kill(getpid(), SIGKILL);
    if (!strncmp(how, "pthread_exit", 12))
        pthread_exit(NULL);
}

static void *go_on(void *unused)
{
    pthread_t other;
    char byte;
    CHECKED(pthread_join(first, NULL) == 0);
    while (readlink("/proc/self/exe", &byte, 1) == 1)
        sched_yield(); // the kernel has it a little longer
    counted_touch("alone");
    make_children();
    CHECKED(pthread_create(&other, NULL, touch_in_thread, "thread") == 0 && pthread_join(other, NULL) == 0);
    make_children();
    counted_touch("alone");
    counted_print();
    end();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t other;
    int side;
    how = argc > 1 ? argv[1] : "return";
    first = pthread_self();
    for (size_t i = 0; i < 5; i++)
        counted_of((const char *[]){"alone", "thread", "forked", "raw", "executed"}[i]);
    CHECKED(pthread_create(&other, NULL, go_on, NULL) == 0);
    if (strstr(how, "-cancelled") == NULL)
        pthread_exit(NULL);
    pthread_cancel(first);
    forkpty(&side, NULL, NULL, NULL);
    abort();
}
