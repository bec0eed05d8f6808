// SPDX-License-Identifier: MIT
// Positions that a process cannot know: of a description that it shares with a child, that it inherited, that appends.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record.h"

static const char *const data = "0123456789012345678901234567890123456789";

static void written(const char *name, int fd, long size, long offset)
{
    CHECK(CALL("write", name, fd, size, offset, write(fd, data, (size_t)size)) == size);
}

static int opened(const char *name, int flags)
{
    int fd = CALL("open", name, NA, NA, NA, open(name, O_RDWR | O_CREAT | flags, 0600));
    CHECK(fd >= 0);
    return fd;
}

static void wait_for(pid_t pid)
{
    int status = 0;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
}

int main(void)
{
    fresh_file("inherited", "");
    int old = open("inherited", O_RDWR);
    CHECK(old >= 0);
    record_open();
    int shared = opened("shared", 0), appends = opened("appends", O_APPEND);
    written("shared", shared, 10, 0);
    written("shared", shared, 5, 10);
    written("appends", appends, 4, NONE);
    pid_t pid = fork();
    if (pid == 0) {
        written("shared", shared, 3, NONE);
        int own = opened("of-child", 0);
        written("of-child", own, 6, 0);
        written("of-child", own, 6, 6);
        CHECK(CALL("pwrite", "shared", shared, 2, 100, pwrite(shared, data, 2, 100)) == 2);
        _exit(0);
    }
    wait_for(pid);
    written("shared", shared, 7, NONE);
    CHECK(CALL("pread", "shared", shared, 4, 1, pread(shared, (char[4]){0}, 4, 1)) == 4);
    int fresh = opened("fresh", 0);
    written("fresh", fresh, 8, 0);
    return 0;
}
