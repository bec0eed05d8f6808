// SPDX-License-Identifier: MIT
#include "client/shim/levels_object.h"

#if FT_LEVELS_ARE_HERE

#include <elf.h>

/* As in object.c: ld.so relocates most of these pointers in place. */
static const void *at(uint64_t base, uint64_t value)
{
    return (const void *)(uintptr_t)(value < base ? value + base : value);
}

static void read_dynamic(struct ft_levels_object *object, const ElfW(Dyn) * entry)
{
    uint64_t base = object->elf.base;
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_JMPREL:
            object->relocations[0] = at(base, entry->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            object->relocation_counts[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_RELA:
            object->relocations[1] = at(base, entry->d_un.d_ptr);
            break;
        case DT_RELASZ:
            object->relocation_counts[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        default:
            break;
        }
    }
    for (int i = 0; i < 2; i++)
        if (object->relocations[i] == NULL || object->elf.symbols == NULL || object->elf.strings == NULL)
            object->relocation_counts[i] = 0;
}

const char *ft_levels_object_name(const char *path)
{
    const char *name = path;
    for (; *path != 0; path++)
        if (*path == '/')
            name = path + 1;
    return name;
}

void ft_levels_object_read(struct ft_levels_object *object, const struct dl_phdr_info *info)
{
    const ElfW(Phdr) *header = info->dlpi_phdr;
    struct link_map map = {.l_addr = info->dlpi_addr};
    *object =
        (struct ft_levels_object){.library = ft_levels_object_name(info->dlpi_name != NULL ? info->dlpi_name : ""),
                                  .headers = header,
                                  .header_count = info->dlpi_phnum,
                                  .begin = UINT64_MAX};
    for (unsigned i = 0; i < info->dlpi_phnum; i++, header++) {
        uint64_t from = info->dlpi_addr + header->p_vaddr, end = from + header->p_memsz;
        if (header->p_type == PT_LOAD) {
            object->begin = from < object->begin ? from : object->begin;
            object->end = end > object->end ? end : object->end;
        } else if (header->p_type == PT_DYNAMIC) {
            map.l_ld = (void *)(uintptr_t)from;
        } else if (header->p_type == PT_GNU_RELRO) {
            object->relro = from & ~(uint64_t)(FT_PAGE_BYTES - 1);
            object->relro_end = end & ~(uint64_t)(FT_PAGE_BYTES - 1);
        }
    }
    object->elf = ft_object_of(&map);
    read_dynamic(object, map.l_ld);
}

const struct ft_levels_object *ft_levels_object_at(const struct ft_levels_objects *objects, uint64_t address)
{
    for (unsigned i = 0; i < objects->count; i++)
        if (address >= objects->items[i].begin && address < objects->items[i].end)
            return &objects->items[i];
    return NULL;
}

#endif
