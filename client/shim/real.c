// SPDX-License-Identifier: MIT
/*
 * Symbol look-up over the link map. Sources: the ELF gABI, "GNU hash" as in binutils, _r_debug in <link.h>.
 * The list may grow while we walk it (dlopen), but all that is asked for stands in libraries loaded at the start, and
 * the walk ends at the first match.
 */
#include "client/shim/real.h"

#include "client/shim/settings.h"
#include "client/shim/start.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>

extern struct r_debug _r_debug __attribute__((weak));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

struct object {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash;
    const ElfW(Half) * versions;
    const char *soname;
    ElfW(Addr) base;
};

enum { CALLS_MAX = 1024 };
ft_function *ft_real_table[CALLS_MAX];

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

/* ld.so relocates most of these pointers in place; those of the vDSO, and on some systems of others, are offsets. */
static const void *at(const struct link_map *map, ElfW(Addr) value)
{
    return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

static struct object object_of(const struct link_map *map)
{
    struct object object = {.base = map->l_addr};
    ElfW(Xword) soname = 0;
    for (const ElfW(Dyn) *entry = map->l_ld; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_SYMTAB:
            object.symbols = at(map, entry->d_un.d_ptr);
            break;
        case DT_STRTAB:
            object.strings = at(map, entry->d_un.d_ptr);
            break;
        case DT_GNU_HASH:
            object.gnu_hash = at(map, entry->d_un.d_ptr);
            break;
        case DT_VERSYM:
            object.versions = at(map, entry->d_un.d_ptr);
            break;
        case DT_SONAME:
            soname = entry->d_un.d_val;
            break;
        default:
            break;
        }
    }
    if (soname != 0 && object.strings != NULL)
        object.soname = object.strings + soname;
    return object;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name != 0; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static int is_same(const char *a, const char *b)
{
    while (*a != 0 && *a == *b)
        a++, b++;
    return *a == *b;
}

static ft_function *function_at(const struct object *object, const ElfW(Sym) * symbol)
{
    ElfW(Addr) address = object->base + symbol->st_value;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
        return ((ft_function * (*)(void)) address)();
    return (ft_function *)address;
}

/* The default version where there are several; a hidden one (old, for programs linked long ago) only where alone. */
static ft_function *find_in(const struct object *object, const char *name, uint32_t hash)
{
    if (object->gnu_hash == NULL || object->symbols == NULL || object->strings == NULL)
        return NULL;
    uint32_t buckets = object->gnu_hash[0], first = object->gnu_hash[1];
    uint32_t bloom_words = object->gnu_hash[2], shift = object->gnu_hash[3];
    const ElfW(Addr) *bloom = (const ElfW(Addr) *)(object->gnu_hash + 4);
    const uint32_t *bucket = (const uint32_t *)(bloom + bloom_words);
    const uint32_t *chain = bucket + buckets;
    if (buckets == 0 || bloom_words == 0)
        return NULL;
    ElfW(Addr) word = bloom[(hash / 64) % bloom_words];
    if (((word >> (hash % 64)) & (word >> ((hash >> shift) % 64)) & 1) == 0)
        return NULL;
    ft_function *hidden = NULL;
    uint32_t index = bucket[hash % buckets];
    if (index < first)
        return NULL;
    for (;; index++) {
        uint32_t entry = chain[index - first];
        const ElfW(Sym) *symbol = &object->symbols[index];
        if ((entry | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0 &&
            is_same(object->strings + symbol->st_name, name)) {
            if (object->versions == NULL || (object->versions[index] & 0x8000) == 0)
                return function_at(object, symbol);
            if (hidden == NULL)
                hidden = function_at(object, symbol);
        }
        if (entry & 1)
            return hidden;
    }
}

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
static const struct link_map *first_map(void)
{
    if (&_r_debug != NULL)
        return _r_debug.r_map;
    if (ft_start_is_relocated())
        return NULL;
    struct link_map linker = linker_map();
    if (linker.l_ld == NULL)
        return NULL;
    struct object object = object_of(&linker);
    const struct r_debug *debug = (const void *)find_in(&object, "_r_debug", hash_of("_r_debug"));
    return debug != NULL ? debug->r_map : NULL;
}

static const struct link_map *own_map(void)
{
    for (const struct link_map *map = first_map(); map != NULL; map = map->l_next)
        if (map->l_ld == _DYNAMIC)
            return map;
    return NULL;
}

static ft_function *find_behind(const struct link_map *own, const char *name)
{
    uint32_t hash = hash_of(name);
    for (const struct link_map *map = own->l_next; map != NULL; map = map->l_next) {
        struct object object = object_of(map);
        ft_function *found = find_in(&object, name, hash);
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* Where this library was not preloaded but opened by somebody, libc stands before it. */
static ft_function *find_in_libc_before(const struct link_map *own, const char *name)
{
    for (const struct link_map *map = first_map(); map != NULL && map != own; map = map->l_next) {
        struct object object = object_of(map);
        if (object.soname != NULL && is_same(object.soname, "libc.so.6"))
            return find_in(&object, name, hash_of(name));
    }
    return NULL;
}

ft_function *ft_real_resolve(unsigned call)
{
    const char *name = (const char *)&names + name_offsets[call];
    const struct link_map *own = own_map();
    if (own == NULL)
        return NULL;
    ft_function *found = find_behind(own, name);
    if (found == NULL)
        found = find_in_libc_before(own, name);
    if (found != NULL)
        __atomic_store_n(&ft_real_table[call], found, __ATOMIC_RELAXED);
    return found;
}

ft_function *ft_real_in_vdso(const char *name)
{
    for (const struct link_map *map = first_map(); map != NULL; map = map->l_next) {
        struct object object = object_of(map);
        if (object.soname == NULL || !ft_has_prefix(object.soname, "linux-vdso.so"))
            continue;
        return find_in(&object, name, hash_of(name));
    }
    return NULL;
}

int ft_real_is_second_copy(void)
{
    const struct link_map *own = own_map();
    if (own == NULL)
        return 1;
    for (const struct link_map *map = first_map(); map != NULL && map != own; map = map->l_next) {
        struct object object = object_of(map);
        if (object.soname != NULL && is_same(object.soname, FT_SHIM_LIBRARY))
            return 1;
    }
    return 0;
}

const char *ft_real_own_path(void)
{
    const struct link_map *own = own_map();
    return own != NULL && own->l_name != NULL ? own->l_name : "";
}
