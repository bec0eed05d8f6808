// SPDX-License-Identifier: MIT
// other_clock HOW: a child in a time namespace whose CLOCK_MONOTONIC is AHEAD_S seconds before this one's.
//   HOW: counter: as it comes    none: the child has no time stamp counter (PR_SET_TSC)
// Writes the time of CLOCK_REALTIME to "before", then the child to "child" ten times, then to "after".
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AHEAD_S = 100000, TIMES = 10, NO_NAMESPACE = 77 };

static void put(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd) != 0)
        exit(1);
}

static void put_time(const char *name)
{
    struct timespec now;
    char text[64];
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(text, sizeof text, "%lld\n", now.tv_sec * 1000000000LL + now.tv_nsec);
    put(name, text);
}

static void enter_namespace(void)
{
    char text[64];
    int n = snprintf(text, sizeof text, "monotonic %d 0\nboottime %d 0\n", AHEAD_S, AHEAD_S);
    if (unshare(CLONE_NEWTIME) != 0)
        exit(NO_NAMESPACE);
    int fd = open("/proc/self/timens_offsets", O_WRONLY);
    if (fd < 0 || write(fd, text, (size_t)n) != n || close(fd) != 0)
        exit(NO_NAMESPACE);
}

static void be_child(const struct timespec *before)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (now.tv_sec - before->tv_sec < AHEAD_S - 1)
        _exit(NO_NAMESPACE);
    for (int i = 0; i < TIMES; i++)
        put("child", "x\n");
    _exit(0);
}

int main(int argc, char **argv)
{
    struct timespec before;
    int status;
    if (argc != 2)
        return 2;
    enter_namespace();
    clock_gettime(CLOCK_MONOTONIC_COARSE, &before);
    put_time("before");
    if (strcmp(argv[1], "none") == 0 && prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0)
        return 1;
    pid_t pid = fork();
    if (pid == 0)
        be_child(&before);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 1;
    if (strcmp(argv[1], "none") == 0 && prctl(PR_SET_TSC, PR_TSC_ENABLE) != 0)
        return 1;
    put_time("after");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
