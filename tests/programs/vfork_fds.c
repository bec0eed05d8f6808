// SPDX-License-Identifier: MIT
// A vfork child closes and moves descriptors before an exec that fails; the parent's are untouched, and so are their names.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    int fd = open("mine", O_WRONLY | O_CREAT, 0600), other = open("other", O_WRONLY | O_CREAT, 0600);
    pid_t pid = vfork();
    if (pid == 0) {
        close(fd);
        dup2(other, fd);
        if (write(fd, "child", 5) != 5)
            _exit(3);
        execl("/absent/program", "x", (char *)NULL);
        _exit(127);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (write(fd, "parent!", 7) != 7)
        return 2;
    return !WIFEXITED(status) || WEXITSTATUS(status) != 127;
}
