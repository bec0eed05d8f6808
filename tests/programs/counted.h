// SPDX-License-Identifier: MIT
/*
 * Files that a test program touches, and how often it did: counted_touch("a") opens, writes one byte and closes, and counts
 * that when all three have returned. counted_print() says it all as one JSON object; tests compare it with the trace.
 * A handler that does not come back, or a cancellation, in the middle of it would leave calls that are not counted: where one
 * may come, the signal has to be blocked, or the test allow for it.
 */
#ifndef FT_TEST_COUNTED_H
#define FT_TEST_COUNTED_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __cplusplus
#include <atomic>
using std::atomic_fetch_add;
using std::atomic_load;
using std::atomic_long;
#else
#include <stdatomic.h>
#endif

enum { COUNTED_MAX = 64 };

static struct {
    const char *name;
    atomic_long count;
} counted[COUNTED_MAX];

/* Names are few, and each is first used (or declared by counted_names) before threads and handlers are. */
static inline atomic_long *counted_of(const char *name)
{
    for (int i = 0; i < COUNTED_MAX; i++) {
        if (counted[i].name == NULL)
            counted[i].name = name;
        if (!strcmp(counted[i].name, name))
            return &counted[i].count;
    }
    abort();
}

static inline void counted_touch(const char *name)
{
    int error = errno;
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1 || close(fd))
        abort();
    atomic_fetch_add(counted_of(name), 1);
    errno = error;
}

static inline void counted_print(void)
{
    char text[4096];
    size_t n = 0;
    for (int i = 0; i < COUNTED_MAX && counted[i].name != NULL; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s\"%s\": %ld", i ? ", " : "{", counted[i].name,
                              atomic_load(&counted[i].count));
    n += (size_t)snprintf(text + n, sizeof text - n, "%s}\n", n ? "" : "{");
    if (write(1, text, n) != (ssize_t)n)
        abort();
}

#define CHECKED(condition)                                                              \
    do {                                                                                \
        if (!(condition)) {                                                             \
            dprintf(2, "%s:%d: %s: errno %d\n", __FILE__, __LINE__, #condition, errno); \
            _exit(99);                                                                  \
        }                                                                               \
    } while (0)

#endif
