// SPDX-License-Identifier: MIT
/* Sources: the ELF gABI (DT_HASH), "GNU hash" as in binutils (DT_GNU_HASH). */
#include "client/shim/object.h"

#include <elf.h>

/* ld.so relocates most of these pointers in place; those of the vDSO, and on some systems of others, are offsets. */
static const void *at(const struct link_map *map, ElfW(Addr) value)
{
    return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

struct ft_object ft_object_of(const struct link_map *map)
{
    struct ft_object object = {.base = map->l_addr};
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
        case DT_HASH:
            object.sysv_hash = at(map, entry->d_un.d_ptr);
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

uint32_t ft_object_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name != 0; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

int ft_object_is_same(const char *a, const char *b)
{
    while (*a != 0 && *a == *b)
        a++, b++;
    return *a == *b;
}

static ft_function *function_at(const struct ft_object *object, const ElfW(Sym) * symbol)
{
    ElfW(Addr) address = object->base + symbol->st_value;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
        return ((ft_function * (*)(void)) address)();
    return (ft_function *)address;
}

/* A search: ends where `found` is the default version, or counts all of that name. */
struct search {
    const struct ft_object *object;
    const char *name;
    const ElfW(Sym) * found;
    unsigned count;
    int counts_all;
};

static int is_found(struct search *search, uint32_t index)
{
    const struct ft_object *object = search->object;
    const ElfW(Sym) *symbol = &object->symbols[index];
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0 ||
        !ft_object_is_same(object->strings + symbol->st_name, search->name))
        return 0;
    int is_default = object->versions == NULL || (object->versions[index] & 0x8000) == 0;
    if (is_default || search->found == NULL)
        search->found = symbol;
    search->count++;
    return is_default && !search->counts_all;
}

static void find_by_gnu_hash(struct search *search, uint32_t hash)
{
    const uint32_t *table = search->object->gnu_hash;
    uint32_t buckets = table[0], first = table[1], bloom_words = table[2], shift = table[3];
    const ElfW(Addr) *bloom = (const ElfW(Addr) *)(table + 4);
    const uint32_t *bucket = (const uint32_t *)(bloom + bloom_words);
    const uint32_t *chain = bucket + buckets;
    if (buckets == 0 || bloom_words == 0)
        return;
    ElfW(Addr) word = bloom[(hash / 64) % bloom_words];
    if (((word >> (hash % 64)) & (word >> ((hash >> shift) % 64)) & 1) == 0)
        return;
    uint32_t index = bucket[hash % buckets];
    if (index < first)
        return;
    for (;; index++) {
        uint32_t entry = chain[index - first];
        if ((entry | 1) == (hash | 1) && is_found(search, index))
            return;
        if (entry & 1)
            return;
    }
}

/* What objects have that were linked with --hash-style=sysv, or before 2006. */
static void find_by_sysv_hash(struct search *search)
{
    const uint32_t *table = search->object->sysv_hash;
    uint32_t buckets = table[0], symbols = table[1], hash = 0;
    const uint32_t *bucket = table + 2, *chain = bucket + buckets;
    for (const char *c = search->name; *c != 0; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    if (buckets == 0)
        return;
    for (uint32_t index = bucket[hash % buckets]; index != 0 && index < symbols; index = chain[index])
        if (is_found(search, index))
            return;
}

static void find(struct search *search, uint32_t hash)
{
    if (search->object->symbols == NULL || search->object->strings == NULL)
        return;
    if (search->object->gnu_hash != NULL)
        find_by_gnu_hash(search, hash);
    else if (search->object->sysv_hash != NULL)
        find_by_sysv_hash(search);
}

ft_function *ft_object_find(const struct ft_object *object, const char *name, uint32_t hash)
{
    struct search search = {.object = object, .name = name};
    find(&search, hash);
    return search.found != NULL ? function_at(object, search.found) : NULL;
}

const ElfW(Sym) *
    ft_object_find_symbol(const struct ft_object *object, const char *name, uint32_t hash, unsigned *count)
{
    struct search search = {.object = object, .name = name, .counts_all = 1};
    find(&search, hash);
    *count = search.count;
    return search.found;
}
