// SPDX-License-Identifier: MIT
/* A loaded ELF object and its dynamic symbols, read without libc. */
#ifndef FT_SHIM_OBJECT_H
#define FT_SHIM_OBJECT_H

#include "client/shim/real.h"

#include <link.h>

struct ft_object {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash, *sysv_hash; /* NULL: not there; one of them always is */
    const ElfW(Half) * versions;
    const char *soname; /* NULL: none */
    ElfW(Addr) base;
};

struct ft_object ft_object_of(const struct link_map *map);
uint32_t ft_object_hash(const char *name);
/* The default version where there are several; a hidden one (old, for programs linked long ago) only where alone. */
ft_function *ft_object_find(const struct ft_object *object, const char *name, uint32_t hash);
/* Its symbol, as above; NULL: it has none. *count: how many versions of that name there are. */
const ElfW(Sym) *
    ft_object_find_symbol(const struct ft_object *object, const char *name, uint32_t hash, unsigned *count);
int ft_object_is_same(const char *a, const char *b);

#endif
