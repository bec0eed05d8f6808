// SPDX-License-Identifier: MIT
// Closes every descriptor from 3 on in the way that argv[1] says, then opens (must be 3) and writes 1000 lines.
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "range";
    if (!strcmp(how, "range"))
        close_range(3, ~0U, 0);
    else if (!strcmp(how, "from"))
        closefrom(3);
    else if (!strcmp(how, "loop"))
        for (int i = 3; i < 4096; i++)
            close(i);
    else if (!strcmp(how, "syscall"))
        syscall(SYS_close_range, 3, ~0U, 0);
    int fd = open("file", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd != 3)
        return 2;
    for (int i = 0; i < 1000; i++)
        if (write(fd, "line\n", 5) != 5)
            return 3;
    return close(fd);
}
