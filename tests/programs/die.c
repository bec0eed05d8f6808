// SPDX-License-Identifier: MIT
// die HOW: writes 1000 records, then ends in one of many ways.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void by_signal(int signal_number)
{
    kill(getpid(), signal_number);
    for (;;)
        pause();
}

static int *volatile nowhere = (int *)16;

static void by_fault(void)
{
    *nowhere = 1;
}

static void *end_of_thread(void *unused)
{
    (void)unused;
    _exit(3);
}

static void from_thread(void)
{
    pthread_t t;
    pthread_create(&t, NULL, end_of_thread, NULL);
    pthread_join(t, NULL);
}

static void end(const char *how)
{
    if (!strcmp(how, "_exit"))
        _exit(3);
    if (!strcmp(how, "_Exit"))
        _Exit(3);
    if (!strcmp(how, "quick_exit"))
        quick_exit(3);
    if (!strcmp(how, "exit"))
        exit(3);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "sigkill"))
        by_signal(SIGKILL);
    if (!strcmp(how, "sigterm"))
        by_signal(SIGTERM);
    if (!strcmp(how, "segv"))
        by_fault();
    if (!strcmp(how, "thread"))
        from_thread();
    if (!strcmp(how, "pthread_exit"))
        pthread_exit(NULL);
    if (!strcmp(how, "exec"))
        execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
}

int main(int argc, char **argv)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    int fd = open("records", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        return 1;
    for (int i = 0; i < 1000; i++)
        if (write(fd, "0123456789", 10) != 10)
            return 1;
    if (argc > 1)
        end(argv[1]);
    return 3;
}
