// SPDX-License-Identifier: MIT
// workers8 WITNESS: forks 8 children that write numbered records without end, each to a file of its own, and waits for them.
// The file WITNESS, mapped: for each child how many it has written.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 8 };

static void work(int n, volatile uint64_t *done)
{
    char name[16];
    snprintf(name, sizeof name, "child-%d", n);
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    for (uint64_t i = 0;; i++) {
        if (pwrite(fd, &i, sizeof i, (off_t)(i % 512 * 8)) != sizeof i)
            abort();
        done[n] = i + 1;
        for (volatile int j = 0; j < (i < 40000 ? 3000 : 300000); j++) // what the ring holds, then slowly
            ;
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, argv[1], O_RDWR | O_CREAT, 0600);
    if (syscall(SYS_ftruncate, fd, 4096))
        abort();
    volatile uint64_t *done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0)
            work(i, done);
    while (wait(NULL) > 0)
        ;
    return 0;
}
