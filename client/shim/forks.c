// SPDX-License-Identifier: MIT
#include "client/shim/forks.h"

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
    __atomic_fetch_add(&ft_process.forks_beyond, 1, __ATOMIC_RELAXED);
    return NULL;
}

void ft_fork_end(uint64_t *place, const void *frame)
{
    uint64_t own = ft_holder_of(frame);
    if (place != NULL)
        __atomic_compare_exchange_n(place, &own, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    else
        __atomic_fetch_sub(&ft_process.forks_beyond, 1, __ATOMIC_RELAXED);
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

int ft_fork_is_any(const void *frame)
{
    uint64_t asking = ft_holder_of(frame);
    for (int i = 0; i < FT_FORKS_MAX; i++) {
        uint64_t holder = __atomic_load_n(&ft_process.forks[i], __ATOMIC_RELAXED);
        if (holder == 0)
            continue;
        if (!ft_holder_has_left(holder, asking, !ft_is_shut_in()))
            return 1;
        __atomic_compare_exchange_n(&ft_process.forks[i], &holder, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    return __atomic_load_n(&ft_process.forks_beyond, __ATOMIC_RELAXED) != 0;
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
    ft_process.forks_beyond = 0;
}
