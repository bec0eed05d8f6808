// SPDX-License-Identifier: MIT
/*
 * What an object's code does with a slot. A program may compare the address of a function, which it loads from the slot,
 * with one that it has from elsewhere: so a slot that is loaded stays as it is, and its calls are not seen.
 * Code is searched for the slot's distance, as bytes: what is found by chance leaves a slot alone, which does no harm.
 */
#include "client/shim/levels_object.h"

#if FT_LEVELS_ARE_HERE

#include <elf.h>

enum { CALL = 0x15, JUMP = 0x25, GROUP_5 = 0xff }; /* call *distance(%rip), jmp *distance(%rip) */

struct uses {
    unsigned calls, others;
};

static void search(struct uses *uses, const unsigned char *code, size_t bytes, uint64_t slot)
{
    for (size_t i = 2; i + sizeof(uint32_t) <= bytes; i++) {
        uint32_t distance;
        __builtin_memcpy(&distance, code + i, sizeof(distance));
        if (distance != (uint32_t)(slot - (uint64_t)(uintptr_t)(code + i + sizeof(distance))))
            continue;
        if (code[i - 2] == GROUP_5 && (code[i - 1] == CALL || code[i - 1] == JUMP))
            uses->calls++;
        else
            uses->others++;
    }
}

int ft_levels_is_only_called(const struct ft_levels_object *object, uint64_t slot)
{
    struct uses uses = {0};
    for (unsigned i = 0; i < object->header_count; i++) {
        const ElfW(Phdr) *header = &object->headers[i];
        if (header->p_type == PT_LOAD && (header->p_flags & (PF_X | PF_R)) == (PF_X | PF_R))
            search(&uses, (const unsigned char *)(uintptr_t)(object->elf.base + header->p_vaddr), header->p_filesz,
                   slot);
    }
    return uses.calls > 0 && uses.others == 0;
}

#endif
