// SPDX-License-Identifier: MIT
// many_fds N: N files open at once, file i is read in i % 7 + 1 calls.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 4000;
    int *fds = calloc((size_t)count, sizeof *fds);
    struct rlimit limit;
    char name[32], c;
    if (!fds || getrlimit(RLIMIT_NOFILE, &limit))
        return 1;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit))
        return 1;
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "f%d", i);
        fds[i] = open(name, O_RDWR | O_CREAT, 0600);
        if (fds[i] < 0)
            return 2;
    }
    for (int i = count - 1; i >= 0; i--)
        for (int k = 0; k < i % 7 + 1; k++)
            if (pread(fds[i], &c, 1, 0) != 0)
                return 3;
    return 0;
}
