// SPDX-License-Identifier: MIT
#include "client/shim/forks.h"

#include <errno.h>

#include "client/shim/holder.h"

static int take(uint64_t *place, uint64_t asking, int may_ask)
{
    uint64_t holder = __atomic_load_n(place, __ATOMIC_RELAXED);
    return (holder == 0 || ft_holder_has_left(holder, asking, may_ask)) &&
           __atomic_compare_exchange_n(place, &holder, asking, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

uint64_t *ft_fork_begin(const void *frame)
{
    uint64_t asking = ft_holder_of(frame);
    for (int i = 0; i < 2 * FT_FORKS_MAX; i++) {
        uint64_t *place = &ft_process.forks[i % FT_FORKS_MAX];
        if (take(place, asking, i >= FT_FORKS_MAX && !ft_is_shut_in()))
            return place;
    }
    return NULL;
}

void ft_fork_end(uint64_t *place, const void *frame)
{
    uint64_t own = ft_holder_of(frame);
    if (place != NULL)
        __atomic_compare_exchange_n(place, &own, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

int ft_fork_is_own(const void *frame)
{
    uint64_t asking = ft_holder_of(frame);
    for (int i = 0; i < FT_FORKS_MAX; i++) {
        uint64_t holder = ft_process.forks[i];
        if (holder != 0 && ft_holder_is_same_thread(holder, asking) && !ft_holder_has_left(holder, asking, 0))
            return 1;
    }
    return 0;
}

/* 1, or 0 also where /proc does not tell. What has ended executes no file any more, and no descriptor is needed to ask. */
static int has_file(uint64_t tid)
{
    char path[48] = "/proc/self/task/", digits[20], byte;
    size_t at = sizeof("/proc/self/task/") - 1;
    int count = 0;
    for (; count == 0 || tid != 0; tid /= 10)
        digits[count++] = (char)('0' + tid % 10);
    while (count > 0)
        path[at++] = digits[--count];
    ft_copy(path + at, "/exe", sizeof("/exe"));
    return ft_sys(SYS_readlinkat, FT_AT_FDCWD, path, &byte, sizeof(byte)) == sizeof(byte);
}

/* The first thread of a process stays, to be signalled, when it has ended before the others. */
static int is_of_ended_first(uint64_t holder)
{
    uint64_t tid = holder >> FT_HOLDER_FRAME_BITS;
    return tid == ft_process.pid && tid != ft_thread.tid && !ft_is_shut_in() && has_file(ft_thread.tid) &&
           !has_file(tid);
}

int ft_fork_is_any(const void *frame)
{
    uint64_t asking = ft_holder_of(frame);
    for (int i = 0; i < FT_FORKS_MAX; i++) {
        uint64_t holder = __atomic_load_n(&ft_process.forks[i], __ATOMIC_RELAXED);
        if (holder == 0)
            continue;
        if (!ft_holder_has_left(holder, asking, !ft_is_shut_in()) && !is_of_ended_first(holder))
            return 1;
        __atomic_compare_exchange_n(&ft_process.forks[i], &holder, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    return 0;
}

void ft_forks_leave(void)
{
    uint64_t own = ft_holder_of(NULL);
    for (int i = 0; i < FT_FORKS_MAX; i++) {
        uint64_t holder = __atomic_load_n(&ft_process.forks[i], __ATOMIC_RELAXED);
        if (holder != 0 && ft_holder_is_same_thread(holder, own))
            __atomic_compare_exchange_n(&ft_process.forks[i], &holder, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

void ft_forks_reset(void)
{
    for (int i = 0; i < FT_FORKS_MAX; i++)
        ft_process.forks[i] = 0;
}
