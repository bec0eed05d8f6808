// SPDX-License-Identifier: MIT
#include "client/cli/analysis_touched.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

enum { SET_FILES = 65536, LIST_MAX = 4096, BITS_BYTES = SET_FILES / 8 };

void ft_touched_init(struct ft_touched *touched, size_t process_count, size_t file_count)
{
    touched->process_count = process_count;
    touched->set_count = file_count / SET_FILES + 1;
    touched->sets = ft_cli_alloc(process_count * sizeof(struct ft_touched_set *));
    for (int i = 0; i < FT_TOUCHED_LOCKS; i++) {
        pthread_mutex_init(&touched->locks[i], NULL);
    }
}

void ft_touched_fini(struct ft_touched *touched)
{
    for (size_t p = 0; p < touched->process_count; p++) {
        for (size_t s = 0; touched->sets[p] && s < touched->set_count; s++) {
            free(touched->sets[p][s].items);
        }
        free(touched->sets[p]);
    }
    free(touched->sets);
    for (int i = 0; i < FT_TOUCHED_LOCKS; i++) {
        pthread_mutex_destroy(&touched->locks[i]);
    }
}

static void set_bit(struct ft_touched_set *set, uint16_t file)
{
    uint64_t *bits = set->items;
    set->count += !(bits[file / 64] >> file % 64 & 1);
    bits[file / 64] |= UINT64_C(1) << file % 64;
}

static void list_to_bits(struct ft_touched_set *set)
{
    uint16_t *list = set->items;
    uint32_t count = set->count;
    *set = (struct ft_touched_set){.items = ft_cli_alloc(BITS_BYTES)};
    for (uint32_t i = 0; i < count; i++) {
        set_bit(set, list[i]);
    }
    free(list);
}

static uint32_t place_in_list(const struct ft_touched_set *set, uint16_t file)
{
    const uint16_t *list = set->items;
    uint32_t low = 0, count = set->count;
    if (count == 0 || list[count - 1] < file) {
        return count;
    }
    while (count > 0) {
        uint32_t half = count / 2;
        bool is_above = list[low + half] < file;
        low = is_above ? low + half + 1 : low;
        count = is_above ? count - half - 1 : half;
    }
    return low;
}

static void add_to_list(struct ft_touched_set *set, uint16_t file)
{
    uint32_t at = place_in_list(set, file);
    uint16_t *list = set->items;
    if (at < set->count && list[at] == file) {
        return;
    }
    if (set->count == set->space) {
        set->space += set->space / 2 + 8;
        set->items = list = ft_cli_realloc(list, set->space, sizeof(*list));
    }
    if (at < set->count) {
        memmove(list + at + 1, list + at, (set->count - at) * sizeof(*list));
    }
    list[at] = file;
    set->count++;
}

void ft_touched_add(struct ft_touched *touched, size_t process, const uint32_t *files, size_t count)
{
    pthread_mutex_t *lock = &touched->locks[process % FT_TOUCHED_LOCKS];
    pthread_mutex_lock(lock);
    if (!touched->sets[process]) {
        touched->sets[process] = ft_cli_alloc(touched->set_count * sizeof(struct ft_touched_set));
    }
    for (size_t i = 0; i < count; i++) {
        struct ft_touched_set *set = &touched->sets[process][files[i] / SET_FILES];
        if (set->space > 0 && set->count >= LIST_MAX) {
            list_to_bits(set);
        }
        if (set->items && set->space == 0) {
            set_bit(set, (uint16_t)files[i]);
        } else {
            add_to_list(set, (uint16_t)files[i]);
        }
    }
    pthread_mutex_unlock(lock);
}

static void each_of_set(const struct ft_touched_set *set, uint32_t first, void (*call)(void *, uint32_t), void *context)
{
    if (set->space > 0) {
        const uint16_t *list = set->items;
        for (uint32_t i = 0; i < set->count; i++) {
            call(context, first + list[i]);
        }
        return;
    }
    const uint64_t *bits = set->items;
    for (uint32_t word = 0; bits && word < SET_FILES / 64; word++) {
        for (uint64_t left = bits[word]; left; left &= left - 1) {
            call(context, first + word * 64 + (uint32_t)__builtin_ctzll(left));
        }
    }
}

void ft_touched_each(const struct ft_touched *touched, size_t process, void (*call)(void *context, uint32_t file),
                     void *context)
{
    for (size_t s = 0; touched->sets[process] && s < touched->set_count; s++) {
        each_of_set(&touched->sets[process][s], (uint32_t)(s * SET_FILES), call, context);
    }
}
