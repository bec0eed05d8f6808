// SPDX-License-Identifier: MIT
#include "daemon/workers.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <uv.h>

#include "daemon/log.h"

// Those of the passes alone: the work of jobs that wait for a disk must not keep the others from theirs.
#define WORKERS_MAX 8
// Address space that is left to all else that we do.
#define ROOM_BYTES ((size_t)16 << 20)
// libuv gives its pool's threads so much from version 1.45 on; before, as much as other threads have (ulimit -s).
#define STACK_BYTES ((rlim_t)8 << 20)

static size_t stack_bytes(void)
{
    struct rlimit limit;
    bool is_larger =
        getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur > STACK_BYTES;
    return is_larger ? (size_t)limit.rlim_cur : (size_t)STACK_BYTES;
}

static void wait_for_others(void *barrier)
{
    uv_sem_wait(barrier);
}

// How many threads there can be beside each other, of those that we want.
static unsigned count_threads(unsigned wanted, int *error)
{
    uv_thread_t threads[WORKERS_MAX];
    uv_sem_t barrier;
    const uv_thread_options_t options = {.flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = stack_bytes()};
    unsigned count = 0;
    *error = uv_sem_init(&barrier, 0);
    while (*error == 0 && count < wanted) {
        *error = uv_thread_create_ex(&threads[count], &options, wait_for_others, &barrier);
        count += *error == 0;
    }
    for (unsigned i = 0; i < count; i++)
        uv_sem_post(&barrier);
    for (unsigned i = 0; i < count; i++)
        uv_thread_join(&threads[i]);
    uv_sem_destroy(&barrier);
    return count;
}

// Each thread that allocates would take an arena of its own: 64 MiB of addresses, 128 for a moment, which a limit of the
// address space (ulimit -v, a batch system's) counts as used.
static void share_memory(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        mallopt(M_ARENA_MAX, 1);
}

int ft_workers_init(bool is_private)
{
    char number[16];
    int error = -ENOMEM;
    unsigned wanted = is_private ? 1 : WORKERS_MAX; // it has one job, which one thread has at a time
    share_memory();
    void *room = mmap(NULL, ROOM_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    unsigned count = room == MAP_FAILED ? 0 : count_threads(wanted, &error);
    if (room != MAP_FAILED)
        munmap(room, ROOM_BYTES);
    if (count == 0) {
        ft_log(FT_LOG_ERR, "there is no room for a thread that stores: %s (ulimit -v, ulimit -u)", uv_strerror(error));
        return error;
    }
    if (count < wanted)
        ft_log(FT_LOG_WARNING, "there is room for %u of %u threads that store: %s (ulimit -v, ulimit -u)", count,
               wanted, uv_strerror(error));
    snprintf(number, sizeof(number), "%u", count);
    return setenv("UV_THREADPOOL_SIZE", number, 1) < 0 ? -errno
                                                       : 0; // whatever the program that we serve asks of its own
}
