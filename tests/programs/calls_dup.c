// SPDX-License-Identifier: MIT
// Descriptors with several names, numbers that are used again, numbers that are large, descriptors handed to streams.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "record.h"

static char buffer[64] = "0123456789012345678901234567890123456789012345678901234567890";

#define GIVES(value, ...) CHECK(CALL(__VA_ARGS__) == (value))

static int opened(const char *name)
{
    int fd = CALL("open", name, NA, NA, NA, open(name, O_RDWR | O_CREAT, 0600));
    CHECK(fd >= 0);
    return fd;
}

static void closed(int fd, const char *name)
{
    GIVES(0, "close", name, fd, NA, NA, close(fd));
}

// Duplicates share the description, so they share its position.
static void duplicates(void)
{
    int a = opened("a"), b = opened("b");
    int a1 = CALL("dup", "a", a, NA, NA, dup(a));
    GIVES(10, "write", "a", a, 10, 0, write(a, buffer, 10));
    GIVES(5, "write", "a", a1, 5, 10, write(a1, buffer, 5));
    GIVES(b, "dup2", "a", a, NA, NA, dup2(a, b));
    GIVES(3, "write", "a", b, 3, 15, write(b, buffer, 3));
    GIVES(20, "dup3", "a", a, NA, NA, dup3(a, 20, O_CLOEXEC));
    int a2 = CALL("fcntl", "a", a, NA, NA, fcntl(a, F_DUPFD, 40));
    CHECK(a2 == 40);
    int a3 = CALL("fcntl64", "a", a, NA, NA, fcntl64(a, F_DUPFD_CLOEXEC, 41));
    CHECK(a3 == 41);
    closed(a, "a");
    GIVES(4, "write", "a", 20, 4, 18, write(20, buffer, 4));
    GIVES(4, "write", "a", a2, 4, 22, write(a2, buffer, 4));
    GIVES(4, "write", "a", a3, 4, 26, write(a3, buffer, 4));
    GIVES(7, "lseek", "a", a2, NA, NA, lseek(a2, 7, SEEK_SET));
    GIVES(2, "read", "a", a1, 2, 7, read(a1, buffer, 2));
    GIVES(a1, "dup2", "a", a1, NA, NA, dup2(a1, a1));
    closed(a1, "a");
    closed(b, "a");
    closed(20, "a");
    closed(a2, "a");
    closed(a3, "a");
    CHECK(CALL("dup", NULL, 77, NA, NA, dup(77)) == -1 && errno == EBADF);
    CHECK(CALL("dup2", NULL, 77, NA, NA, dup2(77, 5)) == -1 && errno == EBADF);
}

static void used_again(void)
{
    for (int i = 0; i < 3; i++) {
        const char *name = i % 2 ? "odd" : "even";
        int fd = opened(name);
        GIVES(i + 1, "write", name, fd, i + 1, 0, write(fd, buffer, (size_t)i + 1));
        closed(fd, name);
    }
    int fd = opened("first");
    closed(fd, "first");
    CHECK(CALL("read", NULL, fd, 5, NA, read(fd, buffer, 5)) == -1 && errno == EBADF);
    GIVES(fd, "open", "second", NA, NA, NA, open("second", O_RDWR | O_CREAT, 0600));
    GIVES(5, "write", "second", fd, 5, 0, write(fd, buffer, 5));
    GIVES(0, "close_range", NULL, NA, NA, NA, close_range((unsigned)fd, (unsigned)fd, 0));
    GIVES(fd, "open", "third", NA, NA, NA, open("third", O_RDWR | O_CREAT, 0600));
    GIVES(6, "write", "third", fd, 6, 0, write(fd, buffer, 6));
    closed(fd, "third");
}

static void large_numbers(void)
{
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    int high = (int)(limit.rlim_cur < 1000000 ? limit.rlim_cur : 1000000) - 1;
    int fd = opened("high");
    CHECK(CALL("fcntl", "high", fd, NA, NA, fcntl(fd, F_DUPFD, high)) == high);
    GIVES(9, "write", "high", high, 9, 0, write(high, buffer, 9));
    closed(high, "high");
    GIVES(9, "write", "high", fd, 9, 9, write(fd, buffer, 9));
    closed(fd, "high");
}

static void hand_over(void)
{
    int fd = opened("stream");
    FILE *f = CALL("fdopen", "stream", fd, NA, NA, fdopen(fd, "w"));
    CHECK(f && fileno(f) == fd);
    GIVES(5, "write", "stream", fd, 5, NA, write(fileno(f), buffer, 5));
    GIVES(1UL, "fwrite", "stream", NA, 6, NA, fwrite(buffer, 6, 1, f));
    GIVES(0, "fclose", "stream", NA, NA, NA, fclose(f));
}

int main(void)
{
    record_open();
    duplicates();
    used_again();
    large_numbers();
    hand_over();
    return 0;
}
