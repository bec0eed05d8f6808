// SPDX-License-Identifier: MIT
// Closes every descriptor from 3 on in the way that argv[1] says, then opens (must be 3) and writes 1000 lines.
// argv[2] says what happens between: nothing, fork, exec, limit (no more descriptors than four), all (from 0 on).
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int lines(int number)
{
    int fd = open("file", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd != number)
        return 2;
    for (int i = 0; i < 1000; i++)
        if (write(fd, "line\n", 5) != 5)
            return 3;
    return close(fd) == 0 ? 0 : 4;
}

static void close_from(const char *how, int first)
{
    if (!strcmp(how, "range"))
        close_range((unsigned)first, ~0U, 0);
    else if (!strcmp(how, "unshared"))
        close_range((unsigned)first, ~0U, 2);
    else if (!strcmp(how, "marked"))
        close_range((unsigned)first, ~0U, 4);
    else if (!strcmp(how, "from"))
        closefrom(first);
    else if (!strcmp(how, "loop"))
        for (int i = first; i < 4096; i++)
            close(i);
    else if (!strcmp(how, "syscall"))
        syscall(SYS_close_range, first, ~0U, 0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "range", *then = argc > 2 ? argv[2] : "nothing";
    struct rlimit four = {4, 4};
    int status = 0;
    close_from(how, 3);
    if (!strcmp(then, "exec"))
        return execl("/proc/self/exe", argv[0], how, "nothing", (char *)NULL);
    if (!strcmp(then, "limit"))
        setrlimit(RLIMIT_NOFILE, &four);
    if (!strcmp(then, "all")) {
        close_from(how, 0);
        return lines(0);
    }
    if (strcmp(then, "nothing")) {
        pid_t pid = fork();
        if (pid == 0) {
            close_from(how, 3);
            _exit(lines(3));
        }
        return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 5;
    }
    return lines(3);
}
