// SPDX-License-Identifier: MIT
/*
 * Which files the handles of libraries are of. A table without locks: an entry is two words, the handle written last; a
 * handle that is used while another thread opens it has no file. The newest of too many takes the place of another.
 */
#include "client/shim/levels_args.h"

#if FT_LEVELS_ARE_HERE

enum {
    HANDLES = FT_PAGE_BYTES / sizeof(struct { uint64_t a, b; }),
    PROBES = 8,
    FILES_MAX = 512,
    FILE_BYTES_MAX = 1024,
    KIND_SHIFT = 60,
};

struct handle {
    uint64_t key; /* 0: free */
    const char *file;
};

FT_TABLE static struct handle *levels_handles; /* a page */
FT_TABLE static const char *levels_files[FILES_MAX];

static struct handle *table(void)
{
    struct handle *page = __atomic_load_n(&levels_handles, __ATOMIC_ACQUIRE), *made;
    if (page != NULL || (made = ft_arena_page()) == NULL)
        return page;
    return __atomic_compare_exchange_n(&levels_handles, &page, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? made
                                                                                                            : page;
}

static uint64_t key_of(enum ft_levels_kind kind, uint64_t handle)
{
    return (handle ^ (uint64_t)kind << KIND_SHIFT) + 1;
}

static struct handle *place(struct handle *page, uint64_t key, unsigned probe)
{
    return &page[((key * UINT64_C(0x9e3779b97f4a7c15) >> 40) + probe) % HANDLES];
}

const char *ft_levels_file_of(enum ft_levels_kind kind, uint64_t handle)
{
    struct handle *page = __atomic_load_n(&levels_handles, __ATOMIC_ACQUIRE);
    uint64_t key = key_of(kind, handle);
    for (unsigned i = 0; page != NULL && i < PROBES; i++) {
        struct handle *one = place(page, key, i);
        if (__atomic_load_n(&one->key, __ATOMIC_ACQUIRE) != key)
            continue;
        const char *file = __atomic_load_n(&one->file, __ATOMIC_ACQUIRE);
        return __atomic_load_n(&one->key, __ATOMIC_ACQUIRE) == key ? file : NULL;
    }
    return NULL;
}

void ft_levels_file_opened(enum ft_levels_kind kind, uint64_t handle, const char *file)
{
    struct handle *page = table(), *chosen = NULL;
    uint64_t key = key_of(kind, handle);
    for (unsigned i = 0; page != NULL && i < PROBES; i++) {
        struct handle *one = place(page, key, i);
        uint64_t there = __atomic_load_n(&one->key, __ATOMIC_ACQUIRE);
        if (there == key) {
            chosen = one;
            break;
        }
        if (chosen == NULL && there == 0)
            chosen = one;
    }
    if (page == NULL)
        return;
    if (chosen == NULL)
        chosen = place(page, key, (unsigned)(key % PROBES));
    __atomic_store_n(&chosen->key, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&chosen->file, file, __ATOMIC_RELEASE);
    __atomic_store_n(&chosen->key, key, __ATOMIC_RELEASE);
}

static int is_path(const char *known, const char *path, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (known[i] != path[i])
            return 0;
    return known[bytes] == 0;
}

const char *ft_levels_file_keep(const char *path, size_t bytes)
{
    if (bytes >= FILE_BYTES_MAX)
        return NULL;
    const char *made = NULL;
    for (unsigned i = 0; i < FILES_MAX; i++) {
        const char *known = __atomic_load_n(&levels_files[i], __ATOMIC_ACQUIRE);
        if (known == NULL) {
            if (made == NULL && (made = ft_levels_keep(path, bytes)) == NULL)
                return NULL;
            if (__atomic_compare_exchange_n(&levels_files[i], &known, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                return made;
        }
        if (is_path(known, path, bytes))
            return known;
    }
    return NULL;
}

#endif
