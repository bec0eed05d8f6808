// SPDX-License-Identifier: MIT
#include "client/cli/analysis_entries.h"

#include <stdlib.h>
#include <string.h>

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

static uint32_t entry_of(struct ft_entries *entries, struct ft_map *map, struct key *key, struct ft_entry entry)
{
    bool is_new;
    set_key(key, entry.set_file, entry.path);
    uint32_t at = ft_map_intern(map, key->bytes, key->len, (uint32_t)entries->count, &is_new);
    if (is_new) {
        if (entries->count == entries->space) {
            entries->space = entries->space ? entries->space * 2 : 256;
            entries->items = ft_cli_realloc(entries->items, entries->space, sizeof(*entries->items));
        }
        entries->items[entries->count++] = entry;
    }
    return at;
}

static void read_reader(struct ft_entries *entries, const struct ft_trace_set *set, uint32_t r, struct ft_map *map,
                        struct key *key)
{
    const struct ft_trace_reader *reader = ft_trace_set_reader(set, r);
    uint32_t most = ft_trace_reader_file_max(reader);
    entries->of[r] = ft_cli_alloc(((size_t)most + 1) * sizeof(struct ft_entry_ref));
    entries->of[r][0] = (struct ft_entry_ref){.entry = FT_ENTRY_NONE, .file_class = FT_FILE_CLASS_NONE};
    for (uint32_t id = 1; id <= most; id++) {
        uint32_t set_file = ft_trace_set_file_of(set, r, id);
        const struct ft_trace_file *record = ft_trace_reader_file(reader, id);
        entries->of[r][id] = (struct ft_entry_ref){.entry = FT_ENTRY_NONE,
                                                   .file_class = (uint8_t)ft_trace_reader_file_class(reader, id),
                                                   .is_identified = ft_entry_is_identified(record),
                                                   .is_memory = record && record->kind == FT_FILE_KIND_MEMORY};
        if (set_file < ft_trace_set_file_count(set)) {
            struct ft_entry entry = {.path = ft_trace_reader_file_path(reader, id),
                                     .host = ft_trace_set_reader_host(set, r),
                                     .set_file = set_file,
                                     .reader = r,
                                     .record = record,
                                     .path_id = FT_ENTRY_NONE};
            entries->of[r][id].entry = entry_of(entries, map, key, entry);
        }
    }
}

/* Entries of files that have several get the number of their path. */
static void number_paths(struct ft_entries *entries, const struct ft_trace_set *set, struct key *key)
{
    struct ft_map paths;
    uint32_t *used = ft_cli_alloc(ft_trace_set_file_count(set) * sizeof(*used));
    ft_map_init(&paths);
    for (size_t i = 0; i < entries->count; i++) {
        used[entries->items[i].set_file]++;
    }
    for (size_t i = 0; i < entries->count; i++) {
        struct ft_entry *entry = &entries->items[i];
        if (used[entry->set_file] > 1) {
            set_key(key, entry->host, entry->path);
            entry->path_id = ft_map_intern(&paths, key->bytes, key->len, (uint32_t)paths.count, NULL);
        }
    }
    ft_map_fini(&paths);
    free(used);
}

/* Where each entry is counted: itself, or the identified one of its path. */
static uint32_t *find_same(const struct ft_entries *entries, struct key *key)
{
    struct ft_map by_path;
    uint32_t *same = ft_cli_alloc(entries->count * sizeof(*same));
    ft_map_init(&by_path);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < entries->count; i++) {
            const struct ft_entry *entry = &entries->items[i];
            bool is_identified = ft_entry_is_identified(entry->record);
            same[i] = i;
            if (entry->path.len == 0 || is_identified != (pass == 0)) {
                continue;
            }
            set_key(key, entry->host, entry->path);
            if (is_identified) {
                ft_map_intern(&by_path, key->bytes, key->len, i, NULL);
            } else {
                ft_map_find(&by_path, key->bytes, key->len, &same[i]);
            }
        }
    }
    ft_map_fini(&by_path);
    return same;
}

void ft_entries_read(struct ft_entries *entries, const struct ft_trace_set *set)
{
    struct ft_map map;
    struct key key = {0};
    memset(entries, 0, sizeof(*entries));
    ft_map_init(&map);
    entries->reader_count = ft_trace_set_reader_count(set);
    entries->of = ft_cli_alloc(entries->reader_count * sizeof(struct ft_entry_ref *));
    for (uint32_t r = 0; r < entries->reader_count; r++) {
        read_reader(entries, set, r, &map, &key);
    }
    number_paths(entries, set, &key);
    uint32_t *same = find_same(entries, &key);
    for (uint32_t r = 0; r < entries->reader_count; r++) {
        uint32_t most = ft_trace_reader_file_max(ft_trace_set_reader(set, r));
        for (uint32_t id = 1; id <= most; id++) {
            uint32_t at = entries->of[r][id].entry;
            entries->of[r][id].entry = at == FT_ENTRY_NONE ? at : same[at];
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
    memset(entries, 0, sizeof(*entries));
}
