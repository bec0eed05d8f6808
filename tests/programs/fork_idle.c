// SPDX-License-Identifier: MIT
// 1000 writes, then 8 children that do nothing; then a child that opens B between the parent's A and C.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void touch(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || close(fd))
        abort();
}

int main(void)
{
    int fd = open("many", O_WRONLY | O_CREAT, 0600);
    for (int i = 0; i < 1000; i++)
        if (write(fd, "x", 1) != 1)
            return 1;
    for (int i = 0; i < 8; i++)
        if (fork() == 0)
            return 0;
    while (wait(NULL) > 0)
        ;
    touch("A");
    if (fork() == 0) {
        touch("B");
        return 0;
    }
    wait(NULL);
    touch("C");
    return 0;
}
