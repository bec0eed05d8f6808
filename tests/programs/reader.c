// SPDX-License-Identifier: MIT
// reader N [lock]: says "ready", and at each line of its input reads one byte N times and says "done". With `lock` it locks
// all its memory first, each time, and unlocks it behind.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char c, line[16];
    long count = argc > 1 ? atol(argv[1]) : 1;
    int fd = open("/proc/self/exe", O_RDONLY);
    if (fd < 0 || puts("ready") < 0 || fflush(stdout) != 0)
        return 2;
    while (fgets(line, sizeof line, stdin)) {
        if (argc > 2 && mlockall(MCL_CURRENT) != 0)
            return 3;
        for (long i = 0; i < count; i++)
            if (pread(fd, &c, 1, 0) != 1)
                return 4;
        if (argc > 2 && munlockall() != 0)
            return 5;
        if (puts("done") < 0 || fflush(stdout) != 0)
            return 6;
    }
    return 0;
}
