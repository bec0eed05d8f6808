// SPDX-License-Identifier: MIT
// Locks all memory, now and later, writes 1000 times, and prints how much is locked, in kB.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE))
        return 2;
    int fd = open("locked", O_WRONLY | O_CREAT, 0600);
    for (int i = 0; i < 1000; i++)
        if (write(fd, "x", 1) != 1)
            return 3;
    char text[8192];
    int status = open("/proc/self/status", O_RDONLY);
    ssize_t n = read(status, text, sizeof text - 1);
    if (n <= 0)
        return 4;
    text[n] = 0;
    const char *at = strstr(text, "VmLck:");
    long locked = 0;
    return !at || sscanf(at, "VmLck: %ld", &locked) != 1 || printf("%ld\n", locked) < 0;
}
