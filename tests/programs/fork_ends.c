// SPDX-License-Identifier: MIT
// fork_ends HOW: 1000 writes to `many`, then 8 children that end by HOW, having written a file of their own before, or
// nothing (`idle`). `never`: the parent ends before them, once all have written, and they when the FIFO `hold` is opened
// for writing.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void touch(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || write(fd, "child", 5) != 5 || close(fd))
        abort();
}

static void end(const char *how)
{
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (!strcmp(how, "_exit") || !strcmp(how, "idle"))
        _exit(0);
    if (!strcmp(how, "exit"))
        exit(0);
    if (!strcmp(how, "exec"))
        execl("/bin/true", "true", (char *)NULL);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "segv"))
        raise(SIGSEGV);
    if (!strcmp(how, "sigkill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "never")) {
        setsid();
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        open("hold", O_RDONLY);
    }
    _exit(9);
}

// Until the last process that may write there has closed it.
static void wait_for_end_of(int fd)
{
    char byte;
    while (read(fd, &byte, 1) > 0)
        ;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "_exit";
    bool live_on = !strcmp(how, "never");
    char name[32];
    int writing[2];
    int fd = open("many", O_WRONLY | O_CREAT, 0600);
    for (int i = 0; i < 1000; i++)
        if (write(fd, "x", 1) != 1)
            return 1;
    if (live_on && pipe(writing))
        return 1;
    for (int i = 0; i < 8; i++) {
        if (fork() != 0)
            continue;
        snprintf(name, sizeof name, "own-%d", i);
        if (strcmp(how, "idle") != 0)
            touch(name);
        if (live_on)
            close(writing[1]);
        if (!strcmp(how, "return"))
            return 0;
        end(how);
    }
    if (live_on) {
        close(writing[1]);
        wait_for_end_of(writing[0]);
        return 0;
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}
