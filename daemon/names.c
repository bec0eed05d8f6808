// SPDX-License-Identifier: MIT
#include "daemon/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "daemon/paths.h"
#include "proto/birth.h"
#include "proto/trace_resume.h"

#define ROOM_MIN 16
#define BASES_MAX 64

// Ids are the client's choice: with a seed that it does not know, it cannot choose ids that all come to one place.
// The mixing is "lowbias32" (Chris Wellons, Prospecting for Hash Functions, 2018).
static uint32_t home_of(const struct ft_names *names, uint32_t id)
{
    uint32_t x = id ^ names->seed;
    x = (x ^ x >> 16) * UINT32_C(0x7feb352d);
    x = (x ^ x >> 15) * UINT32_C(0x846ca68b);
    return (x ^ x >> 16) & (names->room - 1);
}

// Asked for by the handful: each process has one. Without randomness (a kernel just booted) a table works all the same.
static uint32_t next_seed(void)
{
    static _Thread_local uint32_t seeds[64];
    static _Thread_local size_t left;
    if (!left && getrandom(seeds, sizeof(seeds), GRND_NONBLOCK) == sizeof(seeds))
        left = sizeof(seeds) / sizeof(seeds[0]);
    return left ? seeds[--left] : 0;
}

void ft_names_init(struct ft_names *names)
{
    memset(names, 0, sizeof(*names));
    names->seed = next_seed();
}

void ft_names_fini(struct ft_names *names)
{
    for (uint32_t i = 0; i < names->room; i++)
        free(names->slots[i].text);
    free(names->slots);
    free(names->used_paths);
    free(names->fresh);
    memset(names, 0, sizeof(*names));
}

struct ft_name *ft_names_find(const struct ft_names *names, uint32_t id)
{
    if (!names->room || !id)
        return NULL;
    for (uint32_t at = home_of(names, id);; at = (at + 1) & (names->room - 1)) {
        struct ft_name *name = &names->slots[at];
        if (name->id == id)
            return name;
        if (!name->id)
            return NULL;
    }
}

static struct ft_name *empty_slot(const struct ft_names *names, uint32_t id)
{
    uint32_t at = home_of(names, id);
    while (names->slots[at].id)
        at = (at + 1) & (names->room - 1);
    return &names->slots[at];
}

static int grow(struct ft_names *names)
{
    struct ft_names larger = *names;
    larger.room = names->room ? names->room * 2 : ROOM_MIN;
    larger.slots = calloc(larger.room, sizeof(*larger.slots));
    if (!larger.slots)
        return -ENOMEM;
    for (uint32_t i = 0; i < names->room; i++)
        if (names->slots[i].id)
            *empty_slot(&larger, names->slots[i].id) = names->slots[i];
    free(names->slots);
    *names = larger;
    return 0;
}

static struct ft_name *add(struct ft_names *names, uint32_t id, size_t bytes)
{
    // Twice the bounds for what one block brings; ft_names_end_block() comes back below them.
    if (names->count >= 2 * FT_NAMES_MAX || names->text_bytes + bytes > 2 * (size_t)FT_NAMES_BYTES_MAX)
        return NULL;
    if (names->count >= names->room / 2 && grow(names) < 0)
        return NULL;
    char *text = malloc(bytes ? bytes : 1);
    if (!text)
        return NULL;
    struct ft_name *name = empty_slot(names, id);
    *name = (struct ft_name){.id = id, .text = text, .bytes = (uint16_t)bytes};
    names->count++;
    names->text_bytes += bytes;
    return name;
}

// Closes the hole behind a removed slot: what was probed past it moves up.
static void remove_name(struct ft_names *names, struct ft_name *name)
{
    uint32_t hole = (uint32_t)(name - names->slots), mask = names->room - 1;
    names->text_bytes -= name->bytes;
    names->count--;
    free(name->text);
    for (uint32_t at = (hole + 1) & mask; names->slots[at].id; at = (at + 1) & mask) {
        uint32_t home = home_of(names, names->slots[at].id);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        names->slots[hole] = names->slots[at];
        hole = at;
    }
    memset(&names->slots[hole], 0, sizeof(names->slots[hole]));
}

int ft_names_define(struct ft_names *names, const uint64_t *record, unsigned slots)
{
    uint32_t id = (uint32_t)record[1];
    size_t all = record[2] & 0xffff, first = record[2] >> 16 & 0xffff, here = record[2] >> 32 & 0xffff;
    unsigned define = record[2] >> 48 & 0xff, flags = (unsigned)(record[2] >> 56);
    size_t fixed_words = FT_SLOT_WORDS + (flags & FT_DEFINE_INODE ? 2 : 0);
    size_t words = (size_t)slots * FT_SLOT_WORDS;
    if (!id || words < fixed_words || here > (words - fixed_words) * 8 || first > all || here > all - first)
        return -EBADMSG;
    struct ft_name *name = ft_names_find(names, id);
    if (name && (name->bytes_got == name->bytes || name->bytes != all || name->bytes_got != first))
        return 0;
    if (!name && first)
        return 0; // its first part was lost
    if (!name && !(name = add(names, id, all))) {
        names->lost++;
        return 0;
    }
    if (!first) {
        name->base = (uint32_t)(record[1] >> 32);
        name->define = (uint8_t)define;
        name->kind = (uint8_t)record[3];
        name->is_kept = define != FT_DEFINE_PATH && !(flags & FT_DEFINE_ONCE);
        name->is_cut = flags & FT_DEFINE_CUT;
        name->has_inode = flags & FT_DEFINE_INODE;
        name->device = name->has_inode ? record[4] : 0;
        name->inode = name->has_inode ? record[5] : 0;
        name->birth = flags & FT_DEFINE_EXACT ? record[3] >> 8 | FT_BIRTH_EXACT : ft_birth_of_time(record[3] >> 8);
    }
    memcpy(name->text + first, record + fixed_words, here);
    name->bytes_got = (uint16_t)(first + here);
    return 0;
}

void ft_names_set_cwd(struct ft_names *names, const char *path, size_t bytes)
{
    if (!bytes || bytes > FT_PATH_KEPT_BYTES || ft_names_find(names, FT_FILE_CWD))
        return;
    struct ft_name *name = add(names, FT_FILE_CWD, bytes);
    if (!name)
        return;
    memcpy(name->text, path, bytes);
    name->bytes_got = (uint16_t)bytes;
    name->define = FT_DEFINE_CWD;
    name->kind = FT_FILE_WIRE_DIRECTORY;
    name->is_kept = name->is_joined = true;
}

static bool is_relative(const struct ft_name *name)
{
    return name->base && name->define == FT_DEFINE_PATH && !(name->bytes_got && name->text[0] == '/');
}

// Bases that are not joined yet, from the name itself upwards; 0 where one is missing or there are too many.
static unsigned chain_of_bases(struct ft_names *names, struct ft_name *name, struct ft_name **chain)
{
    unsigned count = 0;
    for (;;) {
        chain[count++] = name;
        if (name->is_joined || !is_relative(name))
            return count;
        if (count == BASES_MAX || !(name = ft_names_find(names, name->base)))
            return 0;
    }
}

static void join_one(struct ft_names *names, struct ft_name *name, const struct ft_name *base)
{
    char path[FT_PATHS_BYTES_MAX];
    bool is_cut = name->is_cut || (base && base->is_cut);
    size_t bytes;
    // What the kernel names (pipe:[1], /path (deleted)) and strings stay as they are.
    if (name->define == FT_DEFINE_PATH) {
        bytes = ft_paths_join(path, sizeof(path), base ? base->text : "", base ? base->bytes_got : 0, name->text,
                              name->bytes_got, &is_cut);
        char *text = malloc(bytes ? bytes : 1);
        if (!text)
            return;
        memcpy(text, path, bytes);
        free(name->text);
        names->text_bytes = names->text_bytes - name->bytes + bytes;
        name->text = text;
        name->bytes = name->bytes_got = (uint16_t)bytes;
    }
    name->is_cut = is_cut;
    name->is_joined = true;
}

bool ft_names_join(struct ft_names *names, struct ft_name *name)
{
    if (name->is_joined)
        return true;
    struct ft_name *chain[BASES_MAX];
    unsigned count = chain_of_bases(names, name, chain);
    if (!count)
        return false;
    for (unsigned i = count; i-- > 0;)
        if (!chain[i]->is_joined)
            join_one(names, chain[i], i + 1 < count ? chain[i + 1] : NULL);
    return name->is_joined;
}

// False where there is no memory.
static bool append_id(uint32_t **list, uint32_t *count, uint32_t *room, uint32_t id)
{
    if (*count == *room) {
        uint32_t larger = *room ? *room * 2 : 64;
        uint32_t *ids = realloc(*list, larger * sizeof(*ids));
        if (!ids)
            return false;
        *list = ids;
        *room = larger;
    }
    (*list)[(*count)++] = id;
    return true;
}

void ft_names_note_used(struct ft_names *names, struct ft_name *name)
{
    name->is_used = true;
    // Where there is no memory it stays until room is needed.
    append_id(&names->used_paths, &names->used_count, &names->used_room, name->id);
}

void ft_names_note_fresh(struct ft_names *names, uint32_t id)
{
    if (names->is_all_fresh)
        return;
    if (names->fresh_count < FT_NAMES_MAX && append_id(&names->fresh, &names->fresh_count, &names->fresh_room, id))
        return;
    names->is_all_fresh = true;
}

uint32_t ft_names_fresh_count(const struct ft_names *names)
{
    return names->is_all_fresh ? names->room : names->fresh_count;
}

struct ft_name *ft_names_fresh(const struct ft_names *names, uint32_t i)
{
    struct ft_name *name = names->is_all_fresh ? &names->slots[i] : ft_names_find(names, names->fresh[i]);
    if (!name || !name->id || name->id == FT_FILE_CWD)
        return NULL;
    bool is_needed = name->closed_in ? name->is_told : name->is_kept || !name->is_used;
    return is_needed ? name : NULL;
}

void ft_names_note_told(struct ft_names *names)
{
    names->fresh_count = 0;
    names->is_all_fresh = false;
}

void ft_names_restore(struct ft_names *names, const struct ft_trace_known *known)
{
    struct ft_name *name = ft_names_find(names, known->id);
    size_t bytes = known->length > known->text.len ? known->length : known->text.len;
    if (known->bits & FT_KNOWN_CLOSED) {
        if (name)
            name->closed_in = 1; // before any block of ours
        return;
    }
    if (known->id == FT_FILE_CWD || bytes > UINT16_MAX)
        return;
    if (name)
        remove_name(names, name);
    name = add(names, known->id, bytes);
    if (!name) {
        names->lost++;
        return;
    }
    memcpy(name->text, known->text.data, known->text.len);
    name->bytes_got = (uint16_t)known->text.len;
    name->base = known->base;
    name->define = known->define;
    name->kind = known->kind;
    name->is_kept = known->bits & FT_KNOWN_KEPT;
    name->is_cut = known->bits & FT_KNOWN_CUT;
    name->has_inode = known->bits & FT_KNOWN_HAS_INODE;
    name->device = known->device;
    name->inode = known->inode;
    name->birth = known->birth;
    name->has_birth = true;
    name->is_joined = !known->base && !known->length;
}

static bool is_too_full(const struct ft_names *names)
{
    return names->count > FT_NAMES_MAX || names->text_bytes > FT_NAMES_BYTES_MAX;
}

// Ids of names that may go: those closed in an earlier block, or all but the newest quarter.
static void evict(struct ft_names *names, uint32_t block, bool only_closed)
{
    uint32_t newest = 0;
    for (uint32_t i = 0; i < names->room; i++)
        if (names->slots[i].id > newest)
            newest = names->slots[i].id;
    uint32_t keep_from = newest > FT_NAMES_MAX / 4 ? newest - FT_NAMES_MAX / 4 : 0;
    // From where the last one stopped: one that always began at the first slot would leave the rest to fill up.
    for (uint32_t i = 0; i < names->room && is_too_full(names); i++, names->hand++) {
        struct ft_name *name = &names->slots[names->hand & (names->room - 1)];
        while (name->id && (only_closed ? name->closed_in && name->closed_in + 1 < block
                                        : name->id != FT_FILE_CWD && name->id < keep_from)) {
            names->lost += !only_closed;
            remove_name(names, name); // another may have moved up into its slot
        }
    }
}

void ft_names_end_block(struct ft_names *names, uint32_t block)
{
    for (uint32_t i = 0; i < names->used_count; i++) {
        struct ft_name *name = ft_names_find(names, names->used_paths[i]);
        if (name && !name->is_kept)
            remove_name(names, name);
    }
    names->used_count = 0;
    if (is_too_full(names))
        evict(names, block, true);
    if (is_too_full(names))
        evict(names, block, false);
}

uint64_t ft_names_forget(struct ft_names *names)
{
    uint64_t lost = names->count;
    ft_names_fini(names);
    return lost;
}

size_t ft_names_memory(const struct ft_names *names)
{
    return names->room * sizeof(struct ft_name) + names->text_bytes +
           (names->used_room + names->fresh_room) * sizeof(uint32_t);
}
