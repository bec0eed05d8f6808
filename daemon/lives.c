// SPDX-License-Identifier: MIT
#include "daemon/lives.h"

#include <stdlib.h>
#include <string.h>

#include "proto/birth.h"
#include "proto/ring.h"

enum { ROOM_MIN = 64, TRIES = 4 };

// Who was born later than this before its last name went may have the birth of the one after it.
#define CLOCK_STEP_NS INT64_C(100000000)
// A birth has 55 bits of time: one within a day after the moment is later than it, any other one earlier.
#define LATER_NS (INT64_C(86400) * 1000000000)

struct ft_lives_path {
    uint32_t path, epoch;
    int64_t since_ns;
    struct ft_lives_file file;
};

struct ft_lives_inode {
    uint64_t device, inode, birth; // the kernel's
    uint32_t before;               // files before it with all three the same
    uint32_t links;                // names that it is known to have beside the one that goes first
    bool is_free;                  // its last name has gone
    int64_t freed_ns;              // when that was last
    int64_t used_ns;               // when it was last opened, or used by a descriptor that others opened
};

void ft_lives_fini(struct ft_lives *lives)
{
    free(lives->paths);
    free(lives->inodes);
    memset(lives, 0, sizeof(*lives));
}

size_t ft_lives_memory(const struct ft_lives *lives)
{
    return lives->paths_room * sizeof(*lives->paths) + lives->inodes_room * sizeof(*lives->inodes);
}

void ft_lives_begin(struct ft_lives *lives, uint32_t part, int64_t realtime_offset_ns)
{
    lives->epoch += part != lives->part;
    lives->part = part;
    lives->realtime_offset_ns = realtime_offset_ns;
}

// Paths are numbered as they come: a table as large as their count has a place for each. The newest stay.
static struct ft_lives_path *place_of_path(struct ft_lives *lives, uint32_t path)
{
    if (path > lives->paths_room && lives->paths_room < FT_LIVES_PATHS_MAX) {
        uint32_t room = lives->paths_room ? lives->paths_room : ROOM_MIN;
        while (room < path && room < FT_LIVES_PATHS_MAX)
            room *= 2;
        struct ft_lives_path *paths = calloc(room, sizeof(*paths));
        if (!paths)
            return NULL;
        for (uint32_t i = 0; i < lives->paths_room; i++)
            if (lives->paths[i].path)
                paths[lives->paths[i].path & (room - 1)] = lives->paths[i];
        free(lives->paths);
        lives->paths = paths;
        lives->paths_room = room;
    }
    return &lives->paths[path & (lives->paths_room - 1)];
}

static uint64_t home_of(uint64_t device, uint64_t inode)
{
    uint64_t mixed = (inode ^ device << 32 ^ device >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return mixed >> 32;
}

static struct ft_lives_inode *find_inode(const struct ft_lives *lives, uint64_t device, uint64_t inode)
{
    for (uint64_t i = 0; lives->inodes_room && i < TRIES; i++) {
        struct ft_lives_inode *one = &lives->inodes[(home_of(device, inode) + i) & (lives->inodes_room - 1)];
        if (one->inode == inode && one->device == device)
            return one;
    }
    return NULL;
}

static struct ft_lives_inode *place_of_inode(const struct ft_lives *lives, uint64_t device, uint64_t inode)
{
    for (uint64_t i = 0; i < TRIES; i++) {
        struct ft_lives_inode *one = &lives->inodes[(home_of(device, inode) + i) & (lives->inodes_room - 1)];
        if (!one->inode)
            return one;
    }
    return NULL;
}

static bool grow_inodes(struct ft_lives *lives)
{
    struct ft_lives larger = *lives;
    larger.inodes_room = lives->inodes_room ? lives->inodes_room * 2 : ROOM_MIN;
    larger.inodes = calloc(larger.inodes_room, sizeof(*larger.inodes));
    if (!larger.inodes)
        return false;
    for (uint32_t i = 0; i < lives->inodes_room; i++) {
        const struct ft_lives_inode *one = &lives->inodes[i];
        struct ft_lives_inode *place = one->inode ? place_of_inode(&larger, one->device, one->inode) : NULL;
        if (place)
            *place = *one;
    }
    free(lives->inodes);
    *lives = larger;
    return true;
}

// The file's entry, made where there is none; NULL without memory, or where it was another file's meanwhile.
static struct ft_lives_inode *inode_of(struct ft_lives *lives, const struct ft_lives_file *file)
{
    struct ft_lives_inode *one = find_inode(lives, file->device, file->inode);
    if (one && one->birth + one->before == file->birth)
        return one;
    if (one && file->birth - one->birth < one->before)
        return NULL;
    while (!one && (!lives->inodes_room || !(one = place_of_inode(lives, file->device, file->inode)))) {
        if (lives->inodes_room < FT_LIVES_INODES_MAX && grow_inodes(lives))
            continue;
        if (!lives->inodes_room)
            return NULL;
        one = &lives->inodes[home_of(file->device, file->inode) & (lives->inodes_room - 1)];
    }
    *one = (struct ft_lives_inode){.device = file->device, .inode = file->inode, .birth = file->birth};
    return one;
}

// The number's entry, made anew where it has another birth, unless that is a newer one; NULL: it is not to be counted.
static struct ft_lives_inode *entry_of(struct ft_lives *lives, uint64_t device, uint64_t inode, uint64_t birth,
                                       int64_t at_ns)
{
    if (ft_birth_is_exact(birth) || !inode)
        return NULL;
    struct ft_lives_inode *one = find_inode(lives, device, inode);
    if (one && one->birth == birth)
        return one;
    if (one && one->used_ns >= at_ns)
        return NULL;
    return inode_of(lives, &(struct ft_lives_file){.device = device, .inode = inode, .birth = birth});
}

static void note_use(struct ft_lives_inode *one, int64_t at_ns)
{
    if (at_ns != INT64_MAX && at_ns > one->used_ns)
        one->used_ns = at_ns;
}

uint64_t ft_lives_opened(struct ft_lives *lives, uint64_t device, uint64_t inode, uint64_t birth, bool is_new,
                         int64_t at_ns)
{
    struct ft_lives_inode *one = entry_of(lives, device, inode, birth, at_ns);
    if (!one)
        return birth;
    if (at_ns < one->freed_ns) // of a process that is drained late: the file before
        return (birth + one->before - (!one->is_free && one->before > 0)) & FT_BIRTH_TIME_MAX;
    if (one->is_free ? one->used_ns <= one->freed_ns : is_new && one->used_ns && one->used_ns <= at_ns) {
        one->before++;
        one->links = 0;
    }
    one->is_free = false;
    note_use(one, at_ns);
    return (birth + one->before) & FT_BIRTH_TIME_MAX;
}

uint64_t ft_lives_birth(struct ft_lives *lives, uint64_t device, uint64_t inode, uint64_t birth, int64_t at_ns)
{
    struct ft_lives_inode *one = entry_of(lives, device, inode, birth, at_ns);
    if (!one)
        return birth;
    note_use(one, at_ns);
    return (birth + one->before) & FT_BIRTH_TIME_MAX;
}

const struct ft_lives_file *ft_lives_find(const struct ft_lives *lives, uint32_t path, int64_t at_ns)
{
    if (!lives->paths_room)
        return NULL;
    const struct ft_lives_path *place = &lives->paths[path & (lives->paths_room - 1)];
    bool is_it = place->path == path && place->epoch == lives->epoch && place->since_ns <= at_ns && place->file.inode;
    return is_it ? &place->file : NULL;
}

// False where something newer is known of the path already.
static bool put(struct ft_lives *lives, uint32_t path, const struct ft_lives_file *file, int64_t since_ns)
{
    static const struct ft_lives_file none = {0};
    struct ft_lives_path *place = path ? place_of_path(lives, path) : NULL;
    if (!place || (place->path == path && place->epoch == lives->epoch && place->since_ns > since_ns))
        return false;
    *place =
        (struct ft_lives_path){.path = path, .epoch = lives->epoch, .since_ns = since_ns, .file = file ? *file : none};
    return true;
}

void ft_lives_set(struct ft_lives *lives, uint32_t path, const struct ft_lives_file *file, int64_t since_ns)
{
    put(lives, path, file, since_ns);
}

static bool is_same(const struct ft_lives_file *a, const struct ft_lives_file *b)
{
    return a->device == b->device && a->inode == b->inode && a->birth == b->birth;
}

static bool may_be_born_after(const struct ft_lives *lives, uint64_t birth, int64_t at_ns)
{
    uint64_t earliest = (uint64_t)at_ns + (uint64_t)lives->realtime_offset_ns - CLOCK_STEP_NS;
    return ((birth - earliest) & FT_BIRTH_TIME_MAX) < LATER_NS;
}

// One of the file's names went.
static void lose_name(struct ft_lives *lives, const struct ft_lives_file *file, int64_t at_ns)
{
    if (ft_birth_is_exact(file->birth))
        return;
    struct ft_lives_inode *one = find_inode(lives, file->device, file->inode);
    bool is_known = one && one->birth + one->before == file->birth;
    if (!is_known && file->birth && !may_be_born_after(lives, file->birth, at_ns))
        return;
    if (is_known && one->links) {
        one->links--;
        return;
    }
    bool has_clock = is_known ? one->birth != 0 : file->birth != 0;
    if (!has_clock || may_be_born_after(lives, file->birth, at_ns)) {
        one = inode_of(lives, file);
        if (one) {
            one->is_free = true;
            one->freed_ns = at_ns;
        }
    }
}

void ft_lives_unlink(struct ft_lives *lives, uint32_t path, int64_t at_ns)
{
    const struct ft_lives_file *found = ft_lives_find(lives, path, at_ns);
    if (found) {
        struct ft_lives_file file = *found;
        lose_name(lives, &file, at_ns);
    }
    put(lives, path, NULL, at_ns);
}

void ft_lives_link(struct ft_lives *lives, const struct ft_lives_file *file, uint32_t to, int64_t at_ns)
{
    struct ft_lives_inode *one = file && !ft_birth_is_exact(file->birth) ? inode_of(lives, file) : NULL;
    if (one && !one->is_free)
        one->links++;
    if (one)
        one->is_free = false;
    put(lives, to, file, at_ns);
}

void ft_lives_rename(struct ft_lives *lives, const struct ft_lives_file *file, uint32_t from, uint32_t to,
                     bool is_exchange, int64_t at_ns)
{
    struct ft_lives_file moved = file ? *file : (struct ft_lives_file){0}, other = {0};
    const struct ft_lives_file *there = ft_lives_find(lives, to, at_ns);
    if (there)
        other = *there;
    if (moved.inode && other.inode && is_same(&moved, &other))
        return; // two names of one file: nothing is done
    // What lay below a directory lies elsewhere now.
    if (!moved.inode || moved.kind == FT_FILE_WIRE_DIRECTORY || (is_exchange && other.kind != FT_FILE_WIRE_REGULAR))
        lives->epoch++;
    else if (other.inode && !is_exchange)
        lose_name(lives, &other, at_ns);
    put(lives, from, is_exchange ? &other : NULL, at_ns);
    put(lives, to, &moved, at_ns);
}
