// SPDX-License-Identifier: MIT
// Descriptors that one function of libc closes by itself and another gives out again under the same number.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <mntent.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record.h"

static void counts(int number)
{
    uint64_t value;
    int fd = eventfd(7, 0);
    CHECK(fd == number && read(fd, &value, sizeof value) == 8 && value == 7 && close(fd) == 0);
}

int main(void)
{
    char line[4096];
    FILE *f = setmntent("/proc/self/mounts", "r");
    CHECK(f && fgets(line, sizeof line, f));
    int number = fileno(f);
    CHECK(endmntent(f) == 1);
    counts(number);
    int fd = open("/dev/null", O_RDONLY);
    CHECK(fd == number && read(fd, line, 1) == 0 && syscall(SYS_close, fd) == 0);
    counts(number);
    fd = open("/dev/null", O_RDONLY);
    CHECK(fd == number && read(fd, line, 1) == 0 && syscall(SYS_close_range, fd, ~0U, 0) == 0);
    counts(number);
    return 0;
}
