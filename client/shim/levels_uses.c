// SPDX-License-Identifier: MIT
/*
 * What an object's code does with a slot. A program may compare the address of a function, which it loads from the slot,
 * with one that it has from elsewhere: so a slot that is loaded stays as it is, and its calls are not seen.
 * Code is searched for the slot's distance, as bytes: what is found by chance leaves a slot alone, which does no harm.
 */
#include "client/shim/levels_object.h"

#if FT_LEVELS_ARE_HERE

#include <elf.h>
#include <sys/mman.h>

enum { CALL = 0x15, JUMP = 0x25, GROUP_5 = 0xff }; /* call *distance(%rip), jmp *distance(%rip) */
enum { IS_CALLED = 1, IS_USED_ELSE = 2 };

static size_t slot_count(const struct ft_levels_uses *uses)
{
    return (uses->end - uses->first) / sizeof(uint64_t);
}

/* A distance of four bytes may begin anywhere: each place is taken for one. */
static void search(const struct ft_levels_uses *uses, const unsigned char *code, size_t bytes)
{
    uint64_t length = uses->end - uses->first;
    for (size_t i = 2; i + sizeof(int32_t) <= bytes; i++) {
        int32_t distance;
        __builtin_memcpy(&distance, code + i, sizeof(distance));
        uint64_t to = (uint64_t)(uintptr_t)(code + i + sizeof(distance)) + (uint64_t)(int64_t)distance - uses->first;
        if (ft_likely(to >= length) || to % sizeof(uint64_t) != 0)
            continue;
        int is_call = code[i - 2] == GROUP_5 && (code[i - 1] == CALL || code[i - 1] == JUMP);
        uses->slots[to / sizeof(uint64_t)] |= is_call ? IS_CALLED : IS_USED_ELSE;
    }
}

static int look(const struct ft_levels_object *object, struct ft_levels_uses *uses)
{
    long made = ft_sys(SYS_mmap, 0, slot_count(uses), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (made < 0 && made > -4096)
        return 0;
    uses->slots = (uint8_t *)made;
    for (unsigned i = 0; i < object->header_count; i++) {
        const ElfW(Phdr) *header = &object->headers[i];
        if (header->p_type == PT_LOAD && (header->p_flags & (PF_X | PF_R)) == (PF_X | PF_R))
            search(uses, (const unsigned char *)(uintptr_t)(object->elf.base + header->p_vaddr), header->p_filesz);
    }
    return 1;
}

int ft_levels_is_only_called(const struct ft_levels_object *object, struct ft_levels_uses *uses, uint64_t slot)
{
    if (slot < uses->first || slot >= uses->end || (uses->slots == NULL && !look(object, uses)))
        return 0;
    return uses->slots[(slot - uses->first) / sizeof(uint64_t)] == IS_CALLED;
}

void ft_levels_uses_fini(struct ft_levels_uses *uses)
{
    if (uses->slots != NULL)
        ft_sys(SYS_munmap, uses->slots, slot_count(uses));
}

#endif
