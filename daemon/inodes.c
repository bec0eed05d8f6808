// SPDX-License-Identifier: MIT
#include "daemon/inodes.h"

#include <stdlib.h>
#include <string.h>

void ft_inodes_fini(struct ft_inodes *inodes)
{
    free(inodes->paths);
    free(inodes->epochs);
    memset(inodes, 0, sizeof(*inodes));
}

static bool is_there(struct ft_inodes *inodes)
{
    if (!inodes->paths)
        inodes->paths = calloc(FT_INODES_ROOM, sizeof(*inodes->paths));
    if (!inodes->epochs)
        inodes->epochs = calloc(FT_INODES_ROOM, sizeof(*inodes->epochs));
    return inodes->paths && inodes->epochs;
}

// FNV-1a; 0 is kept for an empty slot.
static uint64_t hash_of(const struct ft_name *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < name->bytes_got; i++)
        hash = (hash ^ (uint8_t)name->text[i]) * UINT64_C(0x100000001b3);
    return hash ? hash : 1;
}

static struct ft_inodes_path *path_slot(struct ft_inodes *inodes, uint64_t hash)
{
    return &inodes->paths[(hash >> 20) % FT_INODES_ROOM];
}

static struct ft_inodes_epoch *epoch_slot(struct ft_inodes *inodes, uint64_t device, uint64_t inode)
{
    return &inodes->epochs[((inode + device * 31) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % FT_INODES_ROOM];
}

uint64_t ft_inodes_note(struct ft_inodes *inodes, const struct ft_name *name)
{
    if (!is_there(inodes))
        return 0;
    uint64_t hash = hash_of(name);
    *path_slot(inodes, hash) = (struct ft_inodes_path){.path_hash = hash, .device = name->device, .inode = name->inode};
    const struct ft_inodes_epoch *epoch = epoch_slot(inodes, name->device, name->inode);
    return epoch->device == name->device && epoch->inode == name->inode ? epoch->epoch : 0;
}

void ft_inodes_note_removed(struct ft_inodes *inodes, const struct ft_name *removed, const struct ft_name *name)
{
    if (!inodes->paths || !inodes->epochs)
        return;
    uint64_t hash = hash_of(removed);
    struct ft_inodes_path *old = path_slot(inodes, hash);
    if (old->path_hash == hash) {
        struct ft_inodes_epoch *epoch = epoch_slot(inodes, old->device, old->inode);
        bool is_same = epoch->device == old->device && epoch->inode == old->inode;
        *epoch = (struct ft_inodes_epoch){
            .device = old->device, .inode = old->inode, .epoch = is_same ? epoch->epoch + 1 : 1};
        memset(old, 0, sizeof(*old));
    }
    if (!name)
        return;
    uint64_t from_hash = hash_of(name);
    struct ft_inodes_path *from = path_slot(inodes, from_hash);
    if (from->path_hash != from_hash)
        return;
    struct ft_inodes_path moved = *from;
    memset(from, 0, sizeof(*from));
    moved.path_hash = hash;
    *old = moved;
}
