// SPDX-License-Identifier: MIT
#include "client/cli/analysis_touched.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

enum { FILES_MIN = 16 };

/* A list is kept as it comes, with files that stand there again, up to so many times what it may hold without them. */
enum { DOUBLES_MOST = 4 };

void ft_touched_init(struct ft_touched *touched, size_t process_count, size_t file_count)
{
    touched->process_count = process_count;
    touched->file_count = file_count;
    touched->sets = ft_cli_alloc(process_count * sizeof(*touched->sets));
    touched->seen = ft_cli_alloc((file_count / 64 + 1) * sizeof(*touched->seen));
    for (int i = 0; i < FT_TOUCHED_LOCKS; i++) {
        pthread_mutex_init(&touched->locks[i], NULL);
    }
}

static void free_set(struct ft_touched_set *set)
{
    free(set->files);
    free(set->bits);
    *set = (struct ft_touched_set){0};
}

void ft_touched_fini(struct ft_touched *touched)
{
    for (size_t p = 0; p < touched->process_count; p++) {
        free_set(&touched->sets[p]);
    }
    free(touched->sets);
    free(touched->seen);
    for (int i = 0; i < FT_TOUCHED_LOCKS; i++) {
        pthread_mutex_destroy(&touched->locks[i]);
    }
}

/* Whether it was not there yet. Files are numbered by us, not by the trace: nobody chooses them to collide. */
static bool add_to_slots(uint32_t *slots, uint32_t mask, uint32_t file)
{
    uint32_t at = (uint32_t)((file * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
    while (slots[at] != 0 && slots[at] != file + 1) {
        at = (at + 1) & mask;
    }
    bool is_new = slots[at] == 0;
    slots[at] = file + 1;
    return is_new;
}

static void remove_doubles(struct ft_touched_set *set)
{
    uint32_t slot_count = 1, count = 0;
    while (slot_count < set->count * 2) {
        slot_count *= 2;
    }
    uint32_t *slots = ft_cli_alloc(slot_count * sizeof(*slots));
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t file = set->files[i];
        set->files[count] = file;
        count += add_to_slots(slots, slot_count - 1, file);
    }
    free(slots);
    set->count = set->distinct = count;
}

static void add_to_bits(struct ft_touched_set *set, const uint32_t *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        set->bits[files[i] / 64] |= UINT64_C(1) << files[i] % 64;
    }
}

/* Room for so many more; a bit for each file where that takes less. */
static void make_room(struct ft_touched_set *set, size_t more, size_t file_count)
{
    size_t bits_bytes = (file_count / 64 + 1) * sizeof(*set->bits);
    if (set->count + more > DOUBLES_MOST * (size_t)set->distinct) {
        remove_doubles(set);
    }
    size_t wanted = set->count + more, space = set->space ? set->space : FILES_MIN;
    while (space < wanted) {
        space *= 2;
    }
    if (space * sizeof(*set->files) >= bits_bytes) {
        struct ft_touched_set old = *set;
        *set = (struct ft_touched_set){.bits = ft_cli_alloc(bits_bytes)};
        add_to_bits(set, old.files, old.count);
        free_set(&old);
    } else if (space > set->space) {
        set->files = ft_cli_realloc(set->files, space, sizeof(*set->files));
        set->space = (uint32_t)space;
    }
}

void ft_touched_add(struct ft_touched *touched, size_t process, const uint32_t *files, size_t count)
{
    struct ft_touched_set *set = &touched->sets[process];
    pthread_mutex_t *lock = &touched->locks[process % FT_TOUCHED_LOCKS];
    pthread_mutex_lock(lock);
    set->distinct = count > set->distinct ? (uint32_t)count : set->distinct;
    if (!set->bits && set->count + count > set->space) {
        make_room(set, count, touched->file_count);
    }
    if (set->bits) {
        add_to_bits(set, files, count);
    } else if (count > 0) {
        memcpy(set->files + set->count, files, count * sizeof(*files));
        set->count += (uint32_t)count;
    }
    pthread_mutex_unlock(lock);
}

static uint32_t *files_of_bits(const struct ft_touched_set *set, size_t words, size_t *count)
{
    size_t used = 0;
    for (size_t word = 0; word < words; word++) {
        used += (size_t)__builtin_popcountll(set->bits[word]);
    }
    uint32_t *files = ft_cli_alloc(used * sizeof(*files));
    *count = 0;
    for (size_t word = 0; word < words; word++) {
        for (uint64_t left = set->bits[word]; left; left &= left - 1) {
            files[(*count)++] = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(left);
        }
    }
    return files;
}

/* Takes out what stands there again. How many are left. `seen` is all zeros before and after. */
static size_t keep_first(uint64_t *seen, uint32_t *files, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t file = files[i];
        uint64_t bit = UINT64_C(1) << file % 64, word = seen[file / 64];
        seen[file / 64] = word | bit;
        files[kept] = file;
        kept += (word & bit) == 0;
    }
    for (size_t i = 0; i < kept; i++) {
        seen[files[i] / 64] = 0;
    }
    return kept;
}

uint32_t *ft_touched_take(struct ft_touched *touched, size_t process, size_t *count)
{
    pthread_mutex_t *lock = &touched->locks[process % FT_TOUCHED_LOCKS];
    pthread_mutex_lock(lock);
    struct ft_touched_set set = touched->sets[process];
    touched->sets[process] = (struct ft_touched_set){0};
    pthread_mutex_unlock(lock);
    if (set.bits) {
        uint32_t *files = files_of_bits(&set, touched->file_count / 64 + 1, count);
        free(set.bits);
        return files;
    }
    *count = keep_first(touched->seen, set.files, set.count);
    return set.files;
}
