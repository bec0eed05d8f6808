// SPDX-License-Identifier: MIT
/*
 * Private pages for the shim's tables. Each page gets its memory before it is used, so a shortage is an answer here and
 * not a fault later.
 */
#include "client/shim/shim.h"

#include <errno.h>
#include <sys/mman.h>

enum { ARENA_PAGES = 64, PAGES_AT_ONCE = 4 };

/* Address of the next free page | how many are left behind it (and with it): one word, so swapped whole. */
static uint64_t arena;

/* Memory for a page; some at a time, in step with the arena's start, since each is a system call. */
static int take_memory(char *page, uint64_t left)
{
    if ((ARENA_PAGES - left) % PAGES_AT_ONCE != 0)
        return 1;
    long error = ft_sys(SYS_madvise, page, PAGES_AT_ONCE * FT_PAGE_BYTES, FT_MADV_POPULATE_WRITE);
    if (error == -EINVAL)
        *(volatile char *)page = 0; /* before Linux 5.14 */
    return error == 0 || error == -EINVAL;
}

void *ft_arena_page(void)
{
    if (ft_is_shut_in())
        return NULL;
    for (;;) {
        uint64_t seen = __atomic_load_n(&arena, __ATOMIC_ACQUIRE);
        uint64_t left = seen % FT_PAGE_BYTES, page = seen - left;
        if (left > 0) {
            if (!__atomic_compare_exchange_n(&arena, &seen, page + FT_PAGE_BYTES + left - 1, 0, __ATOMIC_ACQ_REL,
                                             __ATOMIC_RELAXED))
                continue;
            if (take_memory((char *)(uintptr_t)page, left))
                return (void *)(uintptr_t)page;
            __atomic_store_n(&arena, 0, __ATOMIC_RELEASE); /* the rest of this lot has no memory either */
            return NULL;
        }
        long made = ft_sys(SYS_mmap, 0, ARENA_PAGES * FT_PAGE_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (made < 0 && made > -4096)
            return NULL;
        if (ft_process.unlock_pages)
            ft_sys(SYS_munlock, made, ARENA_PAGES * FT_PAGE_BYTES);
        /* Two threads may each make one: the loser's goes back. */
        if (!__atomic_compare_exchange_n(&arena, &seen, (uint64_t)made + ARENA_PAGES, 0, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            ft_sys(SYS_munmap, made, ARENA_PAGES * FT_PAGE_BYTES);
    }
}
