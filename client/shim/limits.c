// SPDX-License-Identifier: MIT
/*
 * Calls after which a process may hold less memory than before: the segment's mapping is far larger than what of it is in
 * use, and would be taken from what the program may have. States of growth: shim.h.
 */
#include "client/shim/real.h"
#include "client/shim/shapes.h"
#include "proto/control.h"

#include <sys/mman.h>
#include <sys/resource.h>

struct size {
    uint64_t bytes;
    uint32_t chunks_max, chunks_by_shim;
    uint32_t chunks_taken; /* by the shim; those that the daemon made may lie behind a gap */
};

static uint32_t chunks_in_use(uint32_t chunks)
{
    uint32_t granted = __atomic_load_n(&ft_head()->chunks_granted, __ATOMIC_SEQ_CST);
    if (granted > ft_process.chunks_max)
        granted = ft_process.chunks_max;
    return granted > chunks ? granted : chunks;
}

/* Maps no more than what is in use, or `least`; from there on no chunk beyond it is taken. 0: nothing was done. */
static int shrink(struct size *before, uint64_t least)
{
    struct ft_process *p = &ft_process;
    uint8_t expected = FT_GROWTH_FREE;
    if (!__atomic_compare_exchange_n(&p->growth, &expected, FT_GROWTH_DECIDING, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        return 0;
    /* Partner: chunk_bound and grow in ring.c, which look at `growth` after they have read or moved these. */
    uint32_t taken = __atomic_load_n(&p->chunks_high, __ATOMIC_SEQ_CST), chunks = chunks_in_use(taken);
    if (chunks + p->pool_page < least / FT_PAGE_BYTES)
        chunks = (uint32_t)(least / FT_PAGE_BYTES) - p->pool_page;
    uint64_t used = (uint64_t)(p->pool_page + chunks) * FT_PAGE_BYTES;
    *before = (struct size){p->bytes, p->chunks_max, p->chunks_by_shim, taken};
    p->chunks_fixed = chunks;
    __atomic_store_n(&p->growth, FT_GROWTH_FIXED, __ATOMIC_SEQ_CST);
    long error = used < p->bytes ? ft_sys(SYS_mremap, p->base, p->bytes, used, 0) : -1;
    if (error < 0 && error > -4096) {
        __atomic_store_n(&p->growth, FT_GROWTH_FREE, __ATOMIC_SEQ_CST);
        return 0;
    }
    p->bytes = used;
    p->chunks_max = chunks;
    if (p->chunks_by_shim > chunks)
        p->chunks_by_shim = chunks; /* those behind are the daemon's */
    return 1;
}

static void grow_back(const struct size *before)
{
    struct ft_process *p = &ft_process;
    long grown = ft_sys(SYS_mremap, p->base, p->bytes, before->bytes, 0);
    if (grown < 0 && grown > -4096)
        return; /* its place was taken meanwhile: it stays as it is */
    p->bytes = before->bytes;
    p->chunks_max = before->chunks_max;
    p->chunks_by_shim = before->chunks_by_shim;
}

/* While growth is fixed: no memory is put behind the chunks that nobody took, below those that the daemon made. */
static void protect_gap(const struct size *before, int protection)
{
    uint32_t from = before->chunks_taken, to = before->chunks_by_shim;
    if (from < to && to < ft_process.chunks_fixed)
        ft_sys(SYS_mprotect, ft_chunk(from), (uint64_t)(to - from) * FT_CHUNK_BYTES, protection);
}

static void let_grow(void)
{
    __atomic_store_n(&ft_process.growth, FT_GROWTH_FREE, __ATOMIC_SEQ_CST);
}

static int may_act(void)
{
    return !ft_is_shut_in() && ft_thread.vfork_depth == 0 && ft_enter();
}

/*
 * mlockall makes everything that is mapped resident and counts it against RLIMIT_MEMLOCK: for that time the segment is
 * no larger than what has memory already, and it is unlocked afterwards.
 */
FT_EXPORT(int, mlockall, (int flags))
{
    FT_REAL(int, mlockall, (int));
    if (!may_act())
        return real(flags);
    struct size before;
    int is_smaller = shrink(&before, 0);
    if (is_smaller)
        protect_gap(&before, PROT_NONE);
    int r = real(flags);
    ft_process.unlock_pages = r == 0 && (flags & MCL_FUTURE) != 0;
    ft_sys(SYS_munlock, ft_process.base, ft_process.bytes);
    if (is_smaller) {
        protect_gap(&before, PROT_READ | PROT_WRITE);
        grow_back(&before);
        let_grow();
    }
    return r;
}

/* After a call that has set a limit: what it points to could be read. */
static int end_limit(int resource, const struct rlimit *limit, int r)
{
    struct size before;
    if (r != 0 || resource != RLIMIT_AS || limit == NULL || limit->rlim_cur >= FT_ADDRESS_SPACE_SMALL || !may_act())
        return r;
    if (shrink(&before,
               FT_SEGMENT_BYTES_MIN)) /* for good: also for children, whose own segments lie in the same place */
        let_grow();
    return r;
}

#define SET(name)                                                    \
    FT_EXPORT(int, name, (int resource, const struct rlimit *limit)) \
    {                                                                \
        FT_REAL(int, name, (int, const struct rlimit *));            \
        return end_limit(resource, limit, real(resource, limit));    \
    }

#define SET_OF(name)                                                                                \
    FT_EXPORT(int, name, (pid_t pid, int resource, const struct rlimit *limit, struct rlimit *old)) \
    {                                                                                               \
        FT_REAL(int, name, (pid_t, int, const struct rlimit *, struct rlimit *));                   \
        int r = real(pid, resource, limit, old);                                                    \
        return pid == 0 || pid == (pid_t)ft_process.pid ? end_limit(resource, limit, r) : r;        \
    }

SET(setrlimit)
SET(setrlimit64)
SET_OF(prlimit)
SET_OF(prlimit64)
