// SPDX-License-Identifier: MIT
#include "client/cli/map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "client/cli/cli.h"

/* Keys come from files that nobody vouches for: a seed keeps them from being chosen to collide. */
static uint64_t seed;

static uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

uint64_t ft_map_hash(const void *key, size_t bytes)
{
    const char *at = key;
    uint64_t h = mix(seed ^ bytes), word;
    for (; bytes >= sizeof(word); bytes -= sizeof(word), at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        h = mix(h ^ word);
    }
    word = 0;
    memcpy(&word, at, bytes);
    return mix(h ^ word);
}

void ft_map_init(struct ft_map *map)
{
    memset(map, 0, sizeof(*map));
    if (seed == 0 && getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed)) {
        seed = UINT64_C(0x9e3779b97f4a7c15);
    }
}

void ft_map_fini(struct ft_map *map)
{
    free(map->slots);
    free(map->entries);
    free(map->keys);
    memset(map, 0, sizeof(*map));
}

/* The slot of the key, or the free one where it would stand. */
static size_t slot_of(const struct ft_map *map, const void *key, size_t bytes, uint64_t hash)
{
    size_t mask = map->slot_count - 1, at = (size_t)hash & mask;
    for (; map->slots[at].entry != 0; at = (at + 1) & mask) {
        const struct ft_map_entry *entry = &map->entries[map->slots[at].entry - 1];
        if (map->slots[at].hash == hash && entry->bytes == bytes &&
            (bytes == 0 || memcmp(map->keys + entry->at, key, bytes) == 0)) {
            break;
        }
    }
    return at;
}

static void grow_slots(struct ft_map *map)
{
    size_t old_count = map->slot_count, mask;
    struct ft_map_slot *old = map->slots;
    map->slot_count = old_count ? old_count * 2 : 64;
    map->slots = ft_cli_alloc(map->slot_count * sizeof(*map->slots));
    mask = map->slot_count - 1;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i].entry != 0) {
            size_t at = (size_t)old[i].hash & mask;
            while (map->slots[at].entry != 0) {
                at = (at + 1) & mask;
            }
            map->slots[at] = old[i];
        }
    }
    free(old);
}

static uint32_t add_entry(struct ft_map *map, const void *key, size_t bytes, uint32_t value)
{
    if (map->count == map->space) {
        map->space = map->space ? map->space * 2 : 32;
        map->entries = ft_cli_realloc(map->entries, map->space, sizeof(*map->entries));
    }
    if (bytes > map->keys_space - map->keys_bytes) {
        map->keys_space = map->keys_space * 2 + bytes + 1024;
        map->keys = ft_cli_realloc(map->keys, map->keys_space, 1);
    }
    if (bytes > 0) {
        memcpy(map->keys + map->keys_bytes, key, bytes);
    }
    map->entries[map->count] = (struct ft_map_entry){.at = map->keys_bytes, .bytes = (uint32_t)bytes, .value = value};
    map->keys_bytes += bytes;
    return (uint32_t)++map->count;
}

uint32_t ft_map_intern(struct ft_map *map, const void *key, size_t bytes, uint32_t value, bool *is_new)
{
    if ((map->count + 1) * 4 > map->slot_count * 3) {
        grow_slots(map);
    }
    uint64_t hash = ft_map_hash(key, bytes);
    struct ft_map_slot *slot = &map->slots[slot_of(map, key, bytes, hash)];
    bool added = slot->entry == 0;
    if (added) {
        *slot = (struct ft_map_slot){.hash = hash, .entry = add_entry(map, key, bytes, value)};
    }
    if (is_new) {
        *is_new = added;
    }
    return map->entries[slot->entry - 1].value;
}

bool ft_map_find(const struct ft_map *map, const void *key, size_t bytes, uint32_t *value)
{
    if (map->slot_count == 0) {
        return false;
    }
    const struct ft_map_slot *slot = &map->slots[slot_of(map, key, bytes, ft_map_hash(key, bytes))];
    if (slot->entry == 0) {
        return false;
    }
    *value = map->entries[slot->entry - 1].value;
    return true;
}
