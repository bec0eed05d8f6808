// SPDX-License-Identifier: MIT
#include "daemon/test_point.h"

#ifdef FT_TEST_POINTS

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const names[] = {
#define FT_POINT(name, what) [FT_TEST_POINT_##name] = #name,
#include "daemon/test_points.def"
#undef FT_POINT
};

enum { POINT_COUNT = sizeof(names) / sizeof(names[0]) };

// Under the lock. `left` is 0 where nothing is wished for.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    unsigned point, left;
    int signal;
} wish;

static void read_wish(void)
{
    const char *path = getenv("FLOWTAPD_TEST_POINT");
    FILE *file = path ? fopen(path, "re") : NULL;
    char name[64];
    if (!file)
        return;
    if (fscanf(file, "%63[^:]:%u:%d", name, &wish.left, &wish.signal) != 3)
        abort();
    fclose(file);
    unlink(path);
    for (wish.point = 0; wish.point < POINT_COUNT && strcmp(names[wish.point], name) != 0; wish.point++)
        ;
}

void ft_test_point_reach(enum ft_test_point point)
{
    pthread_mutex_lock(&lock);
    if (!wish.left)
        read_wish();
    bool is_now = wish.left && wish.point == point && --wish.left == 0;
    pthread_mutex_unlock(&lock);
    // To this thread, which goes no further then.
    if (is_now)
        syscall(SYS_tgkill, getpid(), gettid(), wish.signal);
}

#endif
