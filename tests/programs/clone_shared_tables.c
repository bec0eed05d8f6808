// SPDX-License-Identifier: MIT
// clone_shared_tables files|fs [vfork]: a child shares the table of descriptors, or the directory, with its parent, and
// changes them; `vfork`: and the memory, while the parent waits.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int fd, is_fs;

static int put(int to, const char *text)
{
    ssize_t n = (ssize_t)strlen(text);
    return write(to, text, (size_t)n) == n ? 0 : -1;
}

static int child(void *unused)
{
    (void)unused;
    if (is_fs)
        return chdir("below");
    int other = open("other", O_WRONLY | O_CREAT, 0600);
    if (dup2(other, fd) != fd || close(other) != 0)
        return 1;
    return put(fd, "child") ? 2 : 0;
}

int main(int argc, char **argv)
{
    static char stack[256 * 1024] __attribute__((aligned(64)));
    int status = 0, flags = SIGCHLD;
    is_fs = argc > 1 && !strcmp(argv[1], "fs");
    flags |= is_fs ? CLONE_FS : CLONE_FILES;
    flags |= argc > 2 ? CLONE_VM | CLONE_VFORK : 0;
    mkdir("below", 0700);
    int first = open("first", O_WRONLY | O_CREAT, 0600);
    fd = open("mine", O_WRONLY | O_CREAT, 0600);
    if (first < 0 || fd < 0 || put(first, "one") || put(fd, "seven77"))
        return 1;
    pid_t pid = clone(child, stack + sizeof stack, flags, NULL);
    if (pid < 0 || waitpid(pid, &status, __WALL) != pid || status != 0)
        return 2;
    int after = open("after", O_WRONLY | O_CREAT, 0600);
    return put(first, "four") || put(fd, "parent!!") || put(after, "at the end") ? 3 : 0;
}
