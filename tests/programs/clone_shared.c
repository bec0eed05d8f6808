// SPDX-License-Identifier: MIT
// clone_shared HOW: writes a file, then a child that shares its memory writes another; shared, vfork or copy.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char stack[1 << 16] __attribute__((aligned(16)));

static int put(void *name)
{
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    return fd < 0 || write(fd, "x", 1) != 1 || close(fd);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "shared";
    int flags = SIGCHLD, status = 1;
    if (strcmp(how, "copy"))
        flags |= CLONE_VM;
    if (!strcmp(how, "vfork"))
        flags |= CLONE_VFORK;
    if (put("before"))
        return 2;
    int pid = clone(put, stack + sizeof(stack), flags, "child");
    if (pid <= 0 || waitpid(pid, &status, 0) != pid || status)
        return 3;
    return put("after");
}
