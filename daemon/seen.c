// SPDX-License-Identifier: MIT
#include "daemon/seen.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 256u
#define ROOM_MAX (1u << 20)

void ft_seen_fini(struct ft_seen *seen)
{
    free(seen->slots);
    memset(seen, 0, sizeof(*seen));
}

// Where the pid is, or would be. There is an empty slot.
static struct ft_seen_pid *slot_of(const struct ft_seen *seen, uint32_t pid)
{
    uint32_t at = pid * UINT32_C(0x9e3779b1) & (seen->room - 1);
    while (seen->slots[at].pid && seen->slots[at].pid != pid)
        at = (at + 1) & (seen->room - 1);
    return &seen->slots[at];
}

// Twice the room; where that is too much, a new beginning: pids that are asked for are young.
static void make_room(struct ft_seen *seen)
{
    struct ft_seen larger = {.room = seen->room ? seen->room * 2 : ROOM_MIN};
    bool is_too_much = larger.room > ROOM_MAX;
    if (is_too_much)
        larger.room = ROOM_MIN;
    larger.slots = calloc(larger.room, sizeof(*larger.slots));
    if (!larger.slots)
        return;
    for (uint32_t i = 0; i < seen->room && !is_too_much; i++)
        if (seen->slots[i].pid)
            *slot_of(&larger, seen->slots[i].pid) = seen->slots[i];
    larger.count = is_too_much ? 0 : seen->count;
    free(seen->slots);
    *seen = larger;
}

void ft_seen_add(struct ft_seen *seen, uint32_t pid, int64_t attached_ns, struct ft_bytes exe)
{
    if (seen->count >= seen->room / 2)
        make_room(seen);
    if (!pid || seen->count >= seen->room / 2)
        return;
    struct ft_seen_pid *slot = slot_of(seen, pid);
    if (slot->pid && slot->attached_ns > attached_ns)
        return;
    seen->count += slot->pid == 0;
    *slot = (struct ft_seen_pid){.pid = pid, .exe = ft_seen_hash(exe), .attached_ns = attached_ns};
}

const struct ft_seen_pid *ft_seen_find(const struct ft_seen *seen, uint32_t pid, int64_t since_ns)
{
    const struct ft_seen_pid *slot = seen->room && pid ? slot_of(seen, pid) : NULL;
    return slot && slot->pid && slot->attached_ns >= since_ns ? slot : NULL;
}

// FNV-1a.
uint32_t ft_seen_hash(struct ft_bytes exe)
{
    uint32_t hash = UINT32_C(2166136261);
    for (size_t i = 0; i < exe.len; i++)
        hash = (hash ^ (uint8_t)exe.data[i]) * UINT32_C(16777619);
    return hash;
}
