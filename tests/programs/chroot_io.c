// SPDX-License-Identifier: MIT
// Goes into an empty root, then writes there; needs root.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
    if (mkdir("root", 0755) || chroot("root") || chdir("/"))
        return 2;
    int fd = open("inside", O_WRONLY | O_CREAT, 0600);
    for (int i = 0; i < 100; i++)
        if (write(fd, "x", 1) != 1)
            return 3;
    fd = open("/absolute", O_WRONLY | O_CREAT, 0600);
    return write(fd, "abs", 3) != 3;
}
