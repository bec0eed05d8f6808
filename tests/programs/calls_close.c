// SPDX-License-Identifier: MIT
// Ends of descriptors: twice, of none, of ranges, marked only, by streams, and what has the number afterwards.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <unistd.h>

#include "record.h"

static char buffer[64] = "0123456789";

#define GIVES(value, ...) CHECK(CALL(__VA_ARGS__) == (value))
#define GOOD(...) GIVES(0, __VA_ARGS__)
#define FAILS(error, ...) CHECK(CALL(__VA_ARGS__) == -1 && errno == (error))

static int opened(const char *name)
{
    int fd = CALL("open", name, NA, NA, NA, open(name, O_RDWR | O_CREAT, 0600));
    CHECK(fd >= 0);
    return fd;
}

static void twice(void)
{
    int fd = opened("a");
    GOOD("close", "a", fd, NA, NA, close(fd));
    FAILS(EBADF, "close", NULL, fd, NA, NA, close(fd));
    FAILS(EBADF, "close", NULL, NONE, NA, NA, close(-1));
    FAILS(EBADF, "close", NULL, NA, NA, NA, close(1 << 30));
    GIVES(fd, "open", "b", NA, NA, NA, open("b", O_RDWR | O_CREAT, 0600));
    GIVES(3, "write", "b", fd, 3, 0, write(fd, buffer, 3));
    GOOD("close", "b", fd, NA, NA, close(fd));
    FAILS(EBADF, "fsync", NULL, fd, NA, NA, fsync(fd));
}

static void ranges(void)
{
    int a = opened("a"), b = opened("b");
    GOOD("close_range", NULL, NA, NA, NA, close_range((unsigned)a, (unsigned)b, CLOSE_RANGE_CLOEXEC));
    GIVES(3, "write", "a", a, 3, 0, write(a, buffer, 3));
    FAILS(EINVAL, "close_range", NULL, NA, NA, NA, close_range(9, 8, 0));
    FAILS(EINVAL, "close_range", NULL, NA, NA, NA, close_range((unsigned)a, (unsigned)b, 0x100));
    GIVES(3, "write", "a", a, 3, 3, write(a, buffer, 3));
    GOOD("close_range", NULL, NA, NA, NA, close_range((unsigned)b, (unsigned)b, CLOSE_RANGE_UNSHARE));
    FAILS(EBADF, "write", NULL, b, 3, NA, write(b, buffer, 3));
    GIVES(3, "write", "a", a, 3, 6, write(a, buffer, 3));
    GIVES(b, "open", "c", NA, NA, NA, open("c", O_RDWR | O_CREAT, 0600));
    GIVES(3, "write", "c", b, 3, 0, write(b, buffer, 3));
    GOOD("close", "c", b, NA, NA, close(b));
    GOOD("close", "a", a, NA, NA, close(a));
}

// Its own table of descriptors from here on: what it closes stays open for the others.
static void *unsharing(void *argument)
{
    int fd = *(int *)argument;
    GOOD("close_range", NULL, NA, NA, NA, close_range((unsigned)fd, (unsigned)fd, CLOSE_RANGE_UNSHARE));
    return NULL;
}

static void threads(void)
{
    pthread_t thread;
    int fd = opened("shared");
    GIVES(3, "write", "shared", fd, 3, 0, write(fd, buffer, 3));
    CHECK(pthread_create(&thread, NULL, unsharing, &fd) == 0 && pthread_join(thread, NULL) == 0);
    GIVES(3, "write", "shared", fd, 3, NA, write(fd, buffer, 3));
    GOOD("close", "shared", fd, NA, NA, close(fd));
}

static ssize_t taken(void *cookie, const char *from, size_t n)
{
    return write(*(int *)cookie, from, n);
}

static void streams(void)
{
    int fd = opened("cookie");
    char *text = NULL;
    size_t n = 0;
    FILE *f = CALL("fopencookie", NULL, NONE, NA, NA, fopencookie(&fd, "w", (cookie_io_functions_t){.write = taken}));
    CHECK(f);
    GIVES(5UL, "fwrite", NULL, NONE, 5, NA, fwrite(buffer, 1, 5, f));
    int64_t before = record_now();
    CHECK(fflush(f) == 0);
    struct record below = {"write", "cookie", fd, 5, 0, before}, flush = {"fflush", NULL, NONE, NA, NA, before};
    record_end(&flush, 0, 0, 0);
    record_end(&below, 5, 0, 0);
    GOOD("fclose", NULL, NONE, NA, NA, fclose(f));
    f = CALL("open_memstream", NULL, NONE, NA, NA, open_memstream(&text, &n));
    GIVES(5UL, "fwrite", NULL, NONE, 5, NA, fwrite(buffer, 1, 5, f));
    GOOD("fclose", NULL, NONE, NA, NA, fclose(f));
    CHECK(n == 5);
    free(text);
    f = CALL("fmemopen", NULL, NONE, 10, NA, fmemopen(buffer, 10, "r"));
    GIVES(1UL, "fread", NULL, NONE, 5, NA, fread((char[5]){0}, 5, 1, f));
    GOOD("fclose", NULL, NONE, NA, NA, fclose(f));
    GOOD("close", "cookie", fd, NA, NA, close(fd));
    f = CALL("fopen", "a", NA, NA, NA, fopen("a", "r+"));
    int number = fileno(f);
    GIVES(3, "write", "a", number, 3, NA, write(number, buffer, 3));
    f = CALL("freopen", "b", NA, NA, NA, freopen("b", "r+", f));
    CHECK(f && fileno(f) == number);
    GIVES(3, "write", "b", number, 3, NA, write(number, buffer, 3));
    f = CALL("freopen", NULL, NA, NA, NA, freopen(NULL, "r", f));
    CHECK(f && fileno(f) == number);
    GIVES(3L, "read", "b", number, 3, NA, read(number, buffer, 3));
    GOOD("fclose", "b", NA, NA, NA, fclose(f));
    GIVES(number, "open", "c", NA, NA, NA, open("c", O_RDONLY));
    GIVES(3L, "read", "c", number, 3, 0, read(number, buffer, 3));
}

int main(void)
{
    record_open();
    twice();
    ranges();
    threads();
    streams();
    return 0;
}
