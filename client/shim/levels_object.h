// SPDX-License-Identifier: MIT
/*
 * The objects of a process, while none can be unloaded (levels_scan.c), and their offset tables.
 * A slot is only written where it holds what the finished relocation of its object has put there: the address of the
 * function, or of the object's own code that looks it up at the first call. So an object that another thread is just
 * loading is left alone.
 */
#ifndef FT_SHIM_LEVELS_OBJECT_H
#define FT_SHIM_LEVELS_OBJECT_H

#include "client/shim/levels.h"

struct ft_levels_object {
    struct ft_object elf;
    const char *library; /* its file's name, without the folder; "": the program */
    const ElfW(Phdr) * headers;
    unsigned header_count;
    uint64_t end; /* of its memory, which begins at elf.base or thereabouts */
    uint64_t begin;
    const ElfW(Rela) * relocations[2]; /* of calls, of all else */
    size_t relocation_counts[2];
    uint64_t relro, relro_end; /* made read-only once it is relocated; both 0: nothing is */
};

struct ft_levels_objects {
    struct ft_levels_object *items;
    unsigned count;
    unsigned first_count; /* so many were there at the first look */
};

/* Of a path, what is behind the folder. */
const char *ft_levels_object_name(const char *path);
/* What dl_iterate_phdr gives. */
void ft_levels_object_read(struct ft_levels_object *object, const struct dl_phdr_info *info);
/* The object that an address is in; NULL: none. */
const struct ft_levels_object *ft_levels_object_at(const struct ft_levels_objects *objects, uint64_t address);

/* levels_slots.c. It calls functions that some rule may be about. */
int ft_levels_slots_are_wanted(const struct ft_levels_object *object);
/* Puts stubs into the slots of the object's table. */
void ft_levels_slots_take(const struct ft_levels_objects *objects, const struct ft_levels_object *object);
/* levels_uses.c. What an object's code does with its slots from `first` to before `end`, found by one look at all of it. */
struct ft_levels_uses {
    uint64_t first, end; /* both 0: there are none */
    uint8_t *slots;      /* one each; NULL: not looked yet */
};
/* The code calls through the slot and does nothing else with it: no address is seen in it. Looks at the first use. */
int ft_levels_is_only_called(const struct ft_levels_object *object, struct ft_levels_uses *uses, uint64_t slot);
void ft_levels_uses_fini(struct ft_levels_uses *uses);

/* Where dlsym is; levels_stubs.S goes on there. */
extern void *ft_levels_dlsym_real;
__attribute__((visibility("hidden"))) extern char ft_levels_dlsym[];

#endif
