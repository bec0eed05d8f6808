// SPDX-License-Identifier: MIT
#include "client/shim/forks.h"

#include "client/shim/holder.h"

/* Beyond the first few, a place for each line, and in use below forks_lines: one, since what a thread forks inside ends first. */
FT_TABLE static uint64_t forks_of_lines[FT_LINES_MAX];
static uint64_t inside; /* of those; holds nothing */

static int take(uint64_t *place, uint64_t asking, int may_ask)
{
    uint64_t holder = __atomic_load_n(place, __ATOMIC_RELAXED);
    return (holder == 0 || ft_holder_has_left(holder, asking, may_ask)) &&
           __atomic_compare_exchange_n(place, &holder, asking, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void raise_lines(uint32_t count)
{
    uint32_t seen = __atomic_load_n(&ft_process.forks_lines, __ATOMIC_RELAXED);
    while (seen < count &&
           !__atomic_compare_exchange_n(&ft_process.forks_lines, &seen, count, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
}

/* What another thread left there had the line before, and has ended. */
static uint64_t *begin_beyond(uint64_t asking)
{
    const struct ft_writer *writer = ft_thread.writer;
    if (writer == NULL) {
        __atomic_fetch_add(&ft_process.forks_beyond, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    uint64_t *place = &forks_of_lines[writer->index];
    uint64_t holder = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (holder != 0 && ft_holder_is_same_thread(holder, asking) && !ft_holder_has_left(holder, asking, 0))
        return &inside;
    __atomic_store_n(place, asking, __ATOMIC_RELAXED);
    raise_lines(writer->index + 1);
    return place;
}

uint64_t *ft_fork_begin(const void *frame)
{
    uint64_t asking = ft_holder_of(frame);
    for (int i = 0; i < 2 * FT_FORKS_MAX; i++) {
        uint64_t *place = &ft_process.forks[i % FT_FORKS_MAX];
        if (take(place, asking, i >= FT_FORKS_MAX && !ft_is_shut_in()))
            return place;
    }
    return begin_beyond(asking);
}

void ft_fork_end(uint64_t *place, const void *frame)
{
    uint64_t own = ft_holder_of(frame);
    if (place != NULL)
        __atomic_compare_exchange_n(place, &own, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    else
        __atomic_fetch_sub(&ft_process.forks_beyond, 1, __ATOMIC_RELAXED);
}

/* All places that may be in use, the first few and those of lines: NULL behind the last. */
static uint64_t *place_at(uint32_t i)
{
    if (i < FT_FORKS_MAX)
        return &ft_process.forks[i];
    i -= FT_FORKS_MAX;
    return i < __atomic_load_n(&ft_process.forks_lines, __ATOMIC_ACQUIRE) ? &forks_of_lines[i] : NULL;
}

int ft_fork_is_own(const void *frame)
{
    uint64_t asking = ft_holder_of(frame), *place;
    for (uint32_t i = 0; (place = place_at(i)) != NULL; i++) {
        uint64_t holder = *place;
        if (holder != 0 && ft_holder_is_same_thread(holder, asking) && !ft_holder_has_left(holder, asking, 0))
            return 1;
    }
    return 0;
}

int ft_fork_is_any(const void *frame)
{
    uint64_t asking = ft_holder_of(frame), *place;
    for (uint32_t i = 0; (place = place_at(i)) != NULL; i++) {
        uint64_t holder = __atomic_load_n(place, __ATOMIC_RELAXED);
        if (holder == 0)
            continue;
        if (!ft_holder_has_left(holder, asking, !ft_is_shut_in()))
            return 1;
        __atomic_compare_exchange_n(place, &holder, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    return __atomic_load_n(&ft_process.forks_beyond, __ATOMIC_RELAXED) != 0;
}

void ft_forks_leave(void)
{
    uint64_t own = ft_holder_of(NULL), *place;
    for (uint32_t i = 0; (place = place_at(i)) != NULL; i++) {
        uint64_t holder = __atomic_load_n(place, __ATOMIC_RELAXED);
        if (holder != 0 && ft_holder_is_same_thread(holder, own))
            __atomic_compare_exchange_n(place, &holder, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

void ft_forks_reset(void)
{
    uint64_t *place;
    for (uint32_t i = 0; (place = place_at(i)) != NULL; i++)
        *place = 0;
    ft_process.forks_lines = 0;
    ft_process.forks_beyond = 0;
}
