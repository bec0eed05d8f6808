// SPDX-License-Identifier: MIT
/* A hash map from byte strings to 32-bit values, for interning; keys are copied. Grows, never shrinks. */
#ifndef FT_CLI_MAP_H
#define FT_CLI_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ft_map_slot {
    uint64_t hash;
    uint32_t entry; /* 0: free; else index + 1 */
};

struct ft_map_entry {
    size_t at;
    uint32_t bytes;
    uint32_t value;
};

struct ft_map {
    struct ft_map_slot *slots;
    size_t slot_count;
    struct ft_map_entry *entries;
    size_t count, space;
    char *keys;
    size_t keys_bytes, keys_space;
};

void ft_map_init(struct ft_map *map);
void ft_map_fini(struct ft_map *map);

/* The value kept for the key; where there is none yet, `value` is kept and *is_new set (is_new may be NULL). */
uint32_t ft_map_intern(struct ft_map *map, const void *key, size_t bytes, uint32_t value, bool *is_new);
/* The hash that a map takes; seeded once a map was begun. */
uint64_t ft_map_hash(const void *key, size_t bytes);
bool ft_map_find(const struct ft_map *map, const void *key, size_t bytes, uint32_t *value);

#endif
