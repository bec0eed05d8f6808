// SPDX-License-Identifier: MIT
/*
 * A test program's own account of its calls: what it passed, what came back, between which two CLOCK_MONOTONIC readings,
 * in which thread. Written to the file $SIDE_LOG by system calls made here, not through libc, so that the account is
 * in no trace. tests/integration/sidelog.py reads it and compares it with a trace, call by call.
 * What the program does before record_open() is not compared.
 *
 *   CALL("pread", "data", fd, 10, 20, pread(fd, buffer, 10, 20));
 *
 * name, path (relative to the directory at start; NULL: not compared), fd, size and offset (NA: not compared,
 * NONE: must be absent), then the call itself, whose value is that of the expression.
 */
#ifndef FT_TEST_RECORD_H
#define FT_TEST_RECORD_H

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// What the headers make of scanf and its like.
#if __GLIBC_PREREQ(2, 38)
#define SCANF_NAME(older, newer) newer
#else
#define SCANF_NAME(older, newer) older
#endif

#define NA LONG_MIN
#define NONE (LONG_MIN + 1)

static int record_fd = -1;
static char record_base[PATH_MAX];

static inline long raw_call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    long result = number;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#endif
}

#if defined(__x86_64__)
enum {
    RAW_WRITE = 1,
    RAW_FCNTL = 72,
    RAW_GETPID = 39,
    RAW_GETTID = 186,
    RAW_OPENAT = 257,
    RAW_CLOSE = 3,
    RAW_GETCWD = 79
};
#else
enum {
    RAW_WRITE = 64,
    RAW_FCNTL = 25,
    RAW_GETPID = 172,
    RAW_GETTID = 178,
    RAW_OPENAT = 56,
    RAW_CLOSE = 57,
    RAW_GETCWD = 17
};
#endif

static inline long raw_getpid(void)
{
    return raw_call(RAW_GETPID, 0, 0, 0, 0, 0, 0);
}

static inline int64_t record_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void record_text(const char *text, size_t size)
{
    raw_call(RAW_WRITE, record_fd, (long)text, (long)size, 0, 0, 0);
}

/* Ends the test program with a reason; the harness prints stderr. */
static inline void record_fail(const char *what)
{
    char text[512];
    int n = snprintf(text, sizeof text, "%s: errno %d (%s)\n", what, errno, strerror(errno));
    raw_call(RAW_WRITE, 2, (long)text, n, 0, 0, 0);
    abort();
}

#define CHECK(condition)                           \
    do {                                           \
        if (!(condition))                          \
            record_fail(__FILE__ ": " #condition); \
    } while (0)

static inline size_t record_hex(char *out, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;
    for (; *text; text++) {
        out[n++] = digits[(unsigned char)*text >> 4];
        out[n++] = digits[(unsigned char)*text & 15];
    }
    return n;
}

/* Opens the account high up, where it takes no number that the program would get. No $SIDE_LOG: no account. */
static inline void record_open(void)
{
    const char *path = getenv("SIDE_LOG");
    raw_call(RAW_GETCWD, (long)record_base, sizeof record_base, 0, 0, 0, 0);
    if (!path)
        return;
    long low = raw_call(RAW_OPENAT, -100, (long)path, 02 | 0100 | 02000 | 02000000, 0600, 0, 0);
    if (low < 0)
        record_fail("SIDE_LOG cannot be opened");
    record_fd = (int)raw_call(RAW_FCNTL, low, 1030, 900, 0, 0, 0);
    raw_call(RAW_CLOSE, low, 0, 0, 0, 0, 0);
    char line[2 * PATH_MAX + 128];
    size_t n = (size_t)snprintf(line, 100, "#\t%ld\t%lld\t", raw_getpid(), (long long)record_now());
    n += record_hex(line + n, record_base);
    line[n++] = '\n';
    record_text(line, n);
}

/* The absolute name of a name given relative to the directory at start; up to 16 may be in use. */
static inline const char *absolute(const char *relative)
{
    static char names[16][2 * PATH_MAX];
    static unsigned next;
    char *name = names[next++ % 16];
    snprintf(name, sizeof names[0], "%s/%s", record_base, relative);
    return name;
}

struct record {
    const char *name, *path;
    long fd, size, offset;
    int64_t before;
};

static inline void record_field(char *line, size_t *n, long value)
{
    if (value == NA)
        line[(*n)++] = '-';
    else if (value == NONE)
        line[(*n)++] = '!';
    else
        *n += (size_t)snprintf(line + *n, 24, "%ld", value);
    line[(*n)++] = '\t';
}

static inline void record_end(const struct record *r, long result, int is_pointer, int error)
{
    int64_t after = record_now();
    char line[3 * PATH_MAX];
    if (record_fd < 0)
        return;
    size_t n =
        (size_t)snprintf(line, 256, "%ld\t%ld\t%lld\t%lld\t%s\t", raw_getpid(), raw_call(RAW_GETTID, 0, 0, 0, 0, 0, 0),
                         (long long)r->before, (long long)after, r->name);
    if (r->path && strlen(r->path) < PATH_MAX)
        n += record_hex(line + n, r->path);
    else
        line[n++] = '-';
    line[n++] = '\t';
    record_field(line, &n, r->fd);
    record_field(line, &n, r->size);
    record_field(line, &n, r->offset);
    record_field(line, &n, is_pointer ? NA : result);
    n += (size_t)snprintf(line + n, 24, "%d\n", error);
    record_text(line, n);
}

#define CALL(name_, path_, fd_, size_, offset_, call_)                                                           \
    ({                                                                                                           \
        struct record record_ = {(name_), (path_), (fd_), (size_), (offset_), 0};                                \
        record_.before = record_now();                                                                           \
        __typeof__(call_) value_ = (call_);                                                                      \
        int error_ = errno;                                                                                      \
        int failed_ =                                                                                            \
            __builtin_classify_type(value_) == 5 ? (long)value_ == 0 || (long)value_ == -1 : (long)value_ == -1; \
        record_end(&record_, (long)value_, __builtin_classify_type(value_) == 5, failed_ ? error_ : 0);          \
        errno = error_;                                                                                          \
        value_;                                                                                                  \
    })

/* A file made without libc, so that its making is in no trace. */
static inline void fresh_file(const char *path, const char *text)
{
    long fd = raw_call(RAW_OPENAT, -100, (long)path, 02 | 0100 | 01000, 0600, 0, 0);
    if (fd < 0)
        record_fail(path);
    raw_call(RAW_WRITE, fd, (long)text, (long)strlen(text), 0, 0, 0);
    raw_call(RAW_CLOSE, fd, 0, 0, 0, 0, 0);
}

#endif
