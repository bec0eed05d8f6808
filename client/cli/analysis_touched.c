// SPDX-License-Identifier: MIT
#include "client/cli/analysis_touched.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

enum { SLOTS_MIN = 64 };

void ft_touched_init(struct ft_touched *touched, size_t process_count, size_t file_count)
{
    touched->process_count = process_count;
    touched->file_count = file_count;
    touched->sets = ft_cli_alloc(process_count * sizeof(*touched->sets));
    for (int i = 0; i < FT_TOUCHED_LOCKS; i++) {
        pthread_mutex_init(&touched->locks[i], NULL);
    }
}

static void free_set(struct ft_touched_set *set)
{
    free(set->slots);
    free(set->bits);
    *set = (struct ft_touched_set){0};
}

void ft_touched_fini(struct ft_touched *touched)
{
    for (size_t p = 0; p < touched->process_count; p++) {
        free_set(&touched->sets[p]);
    }
    free(touched->sets);
    for (int i = 0; i < FT_TOUCHED_LOCKS; i++) {
        pthread_mutex_destroy(&touched->locks[i]);
    }
}

/* Files are numbered by us, not by the trace: nobody chooses them to collide. */
static void add_to_slots(struct ft_touched_set *set, uint32_t file)
{
    uint32_t mask = set->slot_count - 1, at = (uint32_t)((file * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
    while (set->slots[at] != 0 && set->slots[at] != file + 1) {
        at = (at + 1) & mask;
    }
    set->count += set->slots[at] == 0;
    set->slots[at] = file + 1;
}

/* Slots for so many files, or bits where those are not more. */
static void grow(struct ft_touched_set *set, size_t wanted, size_t file_count)
{
    struct ft_touched_set old = *set;
    uint32_t slot_count = SLOTS_MIN;
    while (slot_count < wanted * 2) {
        slot_count *= 2;
    }
    *set = (struct ft_touched_set){0};
    if ((size_t)slot_count * sizeof(uint32_t) >= file_count / 8 + sizeof(uint64_t)) {
        set->bits = ft_cli_alloc((file_count / 64 + 1) * sizeof(uint64_t));
    } else {
        set->slots = ft_cli_alloc(slot_count * sizeof(uint32_t));
        set->slot_count = slot_count;
    }
    for (uint32_t i = 0; i < old.slot_count; i++) {
        uint32_t file = old.slots[i] - 1;
        if (old.slots[i] == 0) {
            continue;
        }
        if (set->bits) {
            set->bits[file / 64] |= UINT64_C(1) << file % 64;
        } else {
            add_to_slots(set, file);
        }
    }
    free_set(&old);
}

void ft_touched_add(struct ft_touched *touched, size_t process, const uint32_t *files, size_t count)
{
    struct ft_touched_set *set = &touched->sets[process];
    pthread_mutex_t *lock = &touched->locks[process % FT_TOUCHED_LOCKS];
    pthread_mutex_lock(lock);
    if (!set->bits && (set->count + count) * 2 > set->slot_count) {
        grow(set, set->count + count, touched->file_count);
    }
    for (size_t i = 0; i < count; i++) {
        if (set->bits) {
            set->bits[files[i] / 64] |= UINT64_C(1) << files[i] % 64;
        } else {
            add_to_slots(set, files[i]);
        }
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
    *count = 0;
    for (uint32_t i = 0; i < set.slot_count; i++) {
        uint32_t slot = set.slots[i];
        set.slots[*count] = slot - 1;
        *count += slot != 0;
    }
    return set.slots;
}
