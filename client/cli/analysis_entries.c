// SPDX-License-Identifier: MIT
#include "client/cli/analysis_entries.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_large.h"
#include "client/cli/cli.h"
#include "client/cli/map.h"

/* A number and a path as one key; in memory that grows with the longest. */
struct key {
    char *bytes;
    size_t len, space;
};

static void set_key(struct key *key, uint32_t number, struct ft_bytes path)
{
    key->len = sizeof(number) + path.len;
    if (key->len > key->space) {
        key->space = key->len * 2;
        key->bytes = ft_cli_realloc(key->bytes, key->space, 1);
    }
    memcpy(key->bytes, &number, sizeof(number));
    if (path.len) {
        memcpy(key->bytes + sizeof(number), path.data, path.len);
    }
}

static uint32_t add_entry(struct ft_entries *entries, struct ft_entry entry)
{
    if (entries->count == entries->space) {
        entries->space = entries->space ? entries->space * 2 : 256;
        entries->items = ft_cli_realloc(entries->items, entries->space, sizeof(*entries->items));
    }
    entries->items[entries->count] = entry;
    return (uint32_t)entries->count++;
}

static uint32_t entry_of(struct ft_entries *entries, struct ft_map *map, struct key *key, struct ft_entry entry)
{
    bool is_new;
    set_key(key, ft_entry_set_file(entries, &entry), ft_entry_path(entries, &entry));
    uint32_t at = ft_map_intern(map, key->bytes, key->len, (uint32_t)entries->count, &is_new);
    return is_new ? add_entry(entries, entry) : at;
}

/* How many ids of all readers each file of the set has. Most have one, and need not be looked for. */
static uint32_t *count_ids(const struct ft_trace_set *set)
{
    size_t count = ft_trace_set_file_count(set);
    uint32_t *ids = ft_cli_alloc(count * sizeof(*ids));
    for (uint32_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        uint32_t most = ft_trace_reader_file_max(ft_trace_set_reader(set, r));
        for (uint32_t id = 1; id <= most; id++) {
            uint32_t set_file = ft_trace_set_file_of(set, r, id);
            if (set_file < count) {
                ids[set_file]++;
            }
        }
    }
    return ids;
}

static void read_reader(struct ft_entries *entries, const struct ft_trace_set *set, uint32_t r, const uint32_t *ids,
                        struct ft_map *map, struct key *key)
{
    const struct ft_trace_reader *reader = ft_trace_set_reader(set, r);
    uint32_t most = ft_trace_reader_file_max(reader);
    entries->of[r] = ft_cli_alloc(((size_t)most + 1) * sizeof(struct ft_entry_ref));
    ft_large_advise(entries->of[r], ((size_t)most + 1) * sizeof(struct ft_entry_ref));
    entries->of[r][0] = (struct ft_entry_ref){.entry = FT_ENTRY_NONE, .file_class = FT_FILE_CLASS_NONE};
    for (uint32_t id = 1; id <= most; id++) {
        uint32_t set_file = ft_trace_set_file_of(set, r, id);
        const struct ft_trace_file record = ft_trace_reader_file(reader, id);
        entries->of[r][id] = (struct ft_entry_ref){.entry = FT_ENTRY_NONE,
                                                   .file_class = (uint8_t)ft_trace_reader_file_class(reader, id),
                                                   .is_identified = ft_entry_is_identified(record),
                                                   .is_memory = record.kind == FT_FILE_KIND_MEMORY};
        if (set_file < ft_trace_set_file_count(set)) {
            struct ft_entry entry = {.reader = r, .file = id};
            entries->of[r][id].entry =
                ids[set_file] == 1 ? add_entry(entries, entry) : entry_of(entries, map, key, entry);
        }
    }
}

static uint32_t *make_path_ids(const struct ft_entries *entries)
{
    uint32_t *path_ids = ft_cli_alloc(entries->count * sizeof(*path_ids));
    for (size_t i = 0; i < entries->count; i++) {
        path_ids[i] = FT_ENTRY_NONE;
    }
    return path_ids;
}

/* Entries of files that have several get the number of their path. */
static void number_paths(struct ft_entries *entries, const struct ft_trace_set *set, struct key *key)
{
    struct ft_map paths;
    uint32_t *used = ft_cli_alloc(ft_trace_set_file_count(set) * sizeof(*used));
    ft_map_init(&paths);
    for (size_t i = 0; i < entries->count; i++) {
        used[ft_entry_set_file(entries, &entries->items[i])]++;
    }
    for (size_t i = 0; i < entries->count; i++) {
        const struct ft_entry *entry = &entries->items[i];
        if (used[ft_entry_set_file(entries, entry)] > 1) {
            entries->path_ids = entries->path_ids ? entries->path_ids : make_path_ids(entries);
            set_key(key, ft_entry_host(entries, entry), ft_entry_path(entries, entry));
            entries->path_ids[i] = ft_map_intern(&paths, key->bytes, key->len, (uint32_t)paths.count, NULL);
        }
    }
    ft_map_fini(&paths);
    free(used);
}

static bool is_path_only(const struct ft_entries *entries, const struct ft_entry *entry)
{
    return !ft_entry_is_identified(ft_entry_record(entries, entry)) && ft_entry_path(entries, entry).len > 0;
}

/* Where each entry is counted: itself, or the first identified one of its path. */
static uint32_t *find_same(const struct ft_entries *entries, struct key *key)
{
    struct ft_map paths; /* of entries that are known by their paths only: few */
    uint32_t *same = ft_cli_alloc(entries->count * sizeof(*same)), *first, number;
    ft_map_init(&paths);
    for (uint32_t i = 0; i < entries->count; i++) {
        same[i] = i;
        const struct ft_entry *entry = &entries->items[i];
        if (is_path_only(entries, entry)) {
            set_key(key, ft_entry_host(entries, entry), ft_entry_path(entries, entry));
            ft_map_intern(&paths, key->bytes, key->len, (uint32_t)paths.count, NULL);
        }
    }
    first = ft_cli_alloc(paths.count * sizeof(*first)); /* index + 1 */
    for (int pass = 0; pass < 2 && paths.count > 0; pass++) {
        for (uint32_t i = 0; i < entries->count; i++) {
            const struct ft_entry *entry = &entries->items[i];
            struct ft_bytes path = ft_entry_path(entries, entry);
            if (path.len == 0 || is_path_only(entries, entry) != (pass == 1)) {
                continue;
            }
            set_key(key, ft_entry_host(entries, entry), path);
            if (ft_map_find(&paths, key->bytes, key->len, &number)) {
                first[number] = pass == 0 && first[number] == 0 ? i + 1 : first[number];
                same[i] = pass == 1 && first[number] != 0 ? first[number] - 1 : same[i];
            }
        }
    }
    ft_map_fini(&paths);
    free(first);
    return same;
}

void ft_entries_read(struct ft_entries *entries, const struct ft_trace_set *set)
{
    struct ft_map map;
    struct key key = {0};
    memset(entries, 0, sizeof(*entries));
    ft_map_init(&map);
    entries->set = set;
    entries->reader_count = ft_trace_set_reader_count(set);
    uint32_t *ids = count_ids(set);
    entries->of = ft_cli_alloc(entries->reader_count * sizeof(struct ft_entry_ref *));
    for (uint32_t r = 0; r < entries->reader_count; r++) {
        read_reader(entries, set, r, ids, &map, &key);
    }
    free(ids);
    number_paths(entries, set, &key);
    uint32_t *same = find_same(entries, &key);
    for (uint32_t r = 0; r < entries->reader_count; r++) {
        uint32_t most = ft_trace_reader_file_max(ft_trace_set_reader(set, r));
        for (uint32_t id = 1; id <= most; id++) {
            struct ft_entry_ref *ref = &entries->of[r][id];
            ref->entry = ref->entry == FT_ENTRY_NONE ? FT_ENTRY_NONE : same[ref->entry];
            ref->has_path_id = ref->entry != FT_ENTRY_NONE && ft_entry_path_id(entries, ref->entry) != FT_ENTRY_NONE;
        }
    }
    free(same);
    free(key.bytes);
    ft_map_fini(&map);
}

void ft_entries_fini(struct ft_entries *entries)
{
    for (size_t r = 0; r < entries->reader_count; r++) {
        free(entries->of[r]);
    }
    free(entries->of);
    free(entries->items);
    free(entries->path_ids);
    memset(entries, 0, sizeof(*entries));
}
