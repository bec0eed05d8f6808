// SPDX-License-Identifier: MIT
// small_stack_spawn COUNT: in threads with the smallest stacks, starts /bin/true with COUNT variables, none of them ours, by
// posix_spawn, vfork and fork.
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char **list;
static char *arguments[] = {"true", NULL};

static void *by_spawn(void *pid)
{
    return (void *)(long)posix_spawn(pid, "/bin/true", NULL, NULL, arguments, list);
}

static void *by_vfork(void *out)
{
    pid_t pid = vfork();
    if (pid == 0) {
        execve("/bin/true", arguments, list);
        _exit(9);
    }
    *(pid_t *)out = pid;
    return NULL;
}

static void *by_fork(void *out)
{
    pid_t pid = fork();
    if (pid == 0) {
        execve("/bin/true", arguments, list);
        _exit(9);
    }
    *(pid_t *)out = pid;
    return NULL;
}

int main(int argc, char **argv)
{
    static void *(*const ways[])(void *) = {by_spawn, by_vfork, by_fork};
    int count = argc > 1 ? atoi(argv[1]) : 10;
    pthread_attr_t small;
    list = calloc((size_t)count + 1, sizeof(*list));
    for (int i = 0; i < count; i++)
        if (asprintf(&list[i], "V%d=x", i) < 0)
            return 2;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pid_t pid = 0;
        void *error = NULL;
        int status = 0;
        if (pthread_create(&thread, &small, ways[i], &pid) || pthread_join(thread, &error) || error)
            return 3;
        if (pid <= 0 || waitpid(pid, &status, 0) != pid || status)
            return 4;
    }
    return 0;
}
