// SPDX-License-Identifier: MIT
/*
 * Symbol look-up over the link map (_r_debug in <link.h>).
 * The list may grow while we walk it (dlopen), but all that is asked for stands in libraries loaded at the start, and
 * the walk ends at the first match.
 */
#include "client/shim/real.h"

#include "client/shim/object.h"
#include "client/shim/relay.h"
#include "client/shim/settings.h"
#include "client/shim/start.h"

#include <elf.h>
#include <fcntl.h>

extern struct r_debug _r_debug __attribute__((weak));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

FT_TABLE ft_function *ft_real_table[FT_REAL_MAX];

/* Names in one piece with offsets into it: pointers would have to be relocated in every process that starts. */
static const struct names {
#define FT_CALL(id, name, ...) char call_##id[sizeof(#name)];
#include "proto/calls.def"
#undef FT_CALL
} names = {
#define FT_CALL(id, name, ...) .call_##id = #name,
#include "proto/calls.def"
#undef FT_CALL
};

static const uint16_t name_offsets[] = {
#define FT_CALL(id, name, ...) [id] = offsetof(struct names, call_##id),
#include "proto/calls.def"
#undef FT_CALL
};

/* ld.so, as the kernel loaded it: the one object that is relocated before any code of ours can run. */
static struct link_map linker_map(void)
{
    uint64_t words[64], base = 0, headers = 0;
    struct link_map map = {.l_addr = 0};
    long fd = ft_sys(SYS_openat, FT_AT_FDCWD, "/proc/self/auxv", O_RDONLY | O_CLOEXEC);
    long n = fd >= 0 ? ft_sys(SYS_pread64, fd, words, sizeof(words), 0) : 0;
    if (fd >= 0)
        ft_sys(SYS_close, fd);
    for (long i = 0; i + 1 < n / (long)sizeof(words[0]); i += 2) {
        base = words[i] == AT_BASE ? words[i + 1] : base;
        headers = words[i] == AT_PHDR ? words[i + 1] : headers;
    }
    if (base == 0) /* ld.so was started as the program */
        base = headers / FT_PAGE_BYTES * FT_PAGE_BYTES;
    if (base == 0)
        return map;
    const ElfW(Ehdr) *head = (const void *)(uintptr_t)base;
    const ElfW(Phdr) *header = (const void *)(uintptr_t)(base + head->e_phoff);
    map.l_addr = base;
    for (unsigned i = 0; i < head->e_phnum; i++)
        if (header[i].p_type == PT_DYNAMIC)
            map.l_ld = (void *)(uintptr_t)(base + header[i].p_vaddr);
    return map;
}

/* Where a debugger finds the list of objects. ld.so's own symbol, which is not known here before this library is relocated. */
const struct link_map *ft_real_first_map(void)
{
    if (&_r_debug != NULL)
        return _r_debug.r_map;
    if (ft_start_is_relocated())
        return NULL;
    struct link_map linker = linker_map();
    if (linker.l_ld == NULL)
        return NULL;
    struct ft_object object = ft_object_of(&linker);
    const struct r_debug *debug = (const void *)ft_object_find(&object, "_r_debug", ft_object_hash("_r_debug"));
    return debug != NULL ? debug->r_map : NULL;
}

static const struct link_map *own_map(void)
{
    for (const struct link_map *map = ft_real_first_map(); map != NULL; map = map->l_next)
        if (map->l_ld == _DYNAMIC)
            return map;
    return NULL;
}

static ft_function *find_behind(const struct link_map *own, const char *name, const struct link_map **where)
{
    uint32_t hash = ft_object_hash(name);
    for (const struct link_map *map = own->l_next; map != NULL; map = map->l_next) {
        struct ft_object object = ft_object_of(map);
        ft_function *found = ft_object_find(&object, name, hash);
        if (found != NULL) {
            *where = map;
            return found;
        }
    }
    return NULL;
}

/* Where this library was not preloaded but opened by somebody, libc stands before it. */
static ft_function *find_in_libc_before(const struct link_map *own, const char *name)
{
    for (const struct link_map *map = ft_real_first_map(); map != NULL && map != own; map = map->l_next) {
        struct ft_object object = ft_object_of(map);
        if (object.soname != NULL && ft_object_is_same(object.soname, "libc.so.6"))
            return ft_object_find(&object, name, ft_object_hash(name));
    }
    return NULL;
}

ft_function *ft_real_resolve(unsigned call)
{
    const char *name = (const char *)&names + name_offsets[call];
    const struct link_map *own = own_map();
    if (own == NULL)
        return NULL;
    const struct link_map *where;
    ft_function *found = find_behind(own, name, &where);
    if (found != NULL)
        ft_relay_note(own, where, name);
    else
        found = find_in_libc_before(own, name);
    if (found != NULL)
        __atomic_store_n(&ft_real_table[call], found, __ATOMIC_RELAXED);
    return found;
}

ft_function *ft_real_find(const char *name)
{
    const struct link_map *own = own_map();
    const struct link_map *where;
    return own != NULL ? find_behind(own, name, &where) : NULL;
}

ft_function *ft_real_in_vdso(const char *name)
{
    for (const struct link_map *map = ft_real_first_map(); map != NULL; map = map->l_next) {
        struct ft_object object = ft_object_of(map);
        if (object.soname == NULL || !ft_has_prefix(object.soname, "linux-vdso.so"))
            continue;
        return ft_object_find(&object, name, ft_object_hash(name));
    }
    return NULL;
}

int ft_real_is_second_copy(void)
{
    const struct link_map *own = own_map();
    if (own == NULL)
        return 1;
    for (const struct link_map *map = ft_real_first_map(); map != NULL && map != own; map = map->l_next) {
        struct ft_object object = ft_object_of(map);
        if (object.soname != NULL && ft_object_is_same(object.soname, FT_SHIM_LIBRARY))
            return 1;
    }
    return 0;
}

const char *ft_real_own_path(void)
{
    const struct link_map *own = own_map();
    return own != NULL && own->l_name != NULL ? own->l_name : "";
}
