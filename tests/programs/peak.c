// SPDX-License-Identifier: MIT
// peak COMMAND [ARGUMENT]...: runs it with its output thrown away, says how many bytes of memory it held at most, ends as it did.
// What a process held before its exec counts for it, too: a large one that starts it itself measures itself.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage usage;
    int status;
    pid_t pid = argc > 1 ? fork() : -1;
    if (pid == 0) {
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
        return 126;
    printf("%ld\n", usage.ru_maxrss * 1024);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
