// SPDX-License-Identifier: MIT
#include "client/cli/analysis_scan_files.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

enum { ITEMS_MIN = 1024, AHEAD = 16 };

const struct ft_entry_ref ft_scan_files_none = {.entry = FT_ENTRY_NONE, .file_class = FT_FILE_CLASS_UNKNOWN};

static void grow(struct ft_scan_files *files)
{
    size_t space = files->space ? files->space * 2 : ITEMS_MIN;
    struct ft_scan_file *items = ft_cli_memory(aligned_alloc(sizeof(*items), space * sizeof(*items)));
    if (files->count > 0) {
        memcpy(items, files->items, files->count * sizeof(*items));
    }
    memset(items + files->count, 0, (space - files->count) * sizeof(*items));
    free(files->items);
    files->items = items;
    files->space = space;
}

void ft_scan_files_forget_runs(struct ft_scan_files *files)
{
    for (size_t i = 0; i < files->space; i++) {
        files->items[i].run = 0;
    }
}

void ft_scan_files_init(struct ft_scan_files *files, size_t place_count)
{
    memset(files, 0, sizeof(*files));
    files->are_variants = place_count == 0;
    files->places = ft_cli_alloc(place_count * sizeof(*files->places));
    grow(files);
}

void ft_scan_files_fini(struct ft_scan_files *files)
{
    free(files->places);
    free(files->items);
    free(files->moved);
    memset(files, 0, sizeof(*files));
}

void ft_scan_files_begin(struct ft_scan_files *files, const struct ft_entry_ref *refs, uint32_t file_max)
{
    files->count = 0;
    files->moved_count = 1;
    files->refs = refs;
    files->file_max = file_max;
    while (files->are_variants && files->count < FT_SCAN_VARIANTS) {
        uint8_t variant = (uint8_t)files->count++;
        files->items[variant] = (struct ft_scan_file){.entry = FT_ENTRY_NONE,
                                                      .file_class = variant % (FT_SCAN_VARIANTS / 2),
                                                      .variant = variant,
                                                      .is_memory = variant >= FT_SCAN_VARIANTS / 2,
                                                      .first_ns = INT64_MAX};
    }
}

uint32_t ft_scan_files_add(struct ft_scan_files *files, uint32_t id)
{
    const struct ft_entry_ref *ref = id <= files->file_max ? &files->refs[id] : &ft_scan_files_none;
    if (files->count == files->space) {
        grow(files);
    }
    files->items[files->count] =
        (struct ft_scan_file){.id = id,
                              .entry = ref->entry,
                              .file_class = ref->file_class,
                              .variant = (uint8_t)ft_scan_variant(ref->file_class, ref->is_memory),
                              .is_identified = ref->is_identified,
                              .is_memory = ref->is_memory,
                              .has_path_id = ref->has_path_id,
                              .first_ns = INT64_MAX};
    files->places[id] = (uint32_t)files->count;
    return (uint32_t)files->count++;
}

uint32_t ft_scan_files_add_moved(struct ft_scan_files *files)
{
    if (files->moved_count >= files->moved_space) {
        files->moved_space = files->moved_space ? files->moved_space * 2 : ITEMS_MIN;
        files->moved = ft_cli_realloc(files->moved, files->moved_space, sizeof(*files->moved));
    }
    files->moved[files->moved_count] = (struct ft_scan_moved){0};
    return (uint32_t)files->moved_count++;
}

void ft_scan_files_add_to(const struct ft_scan_files *files, struct ft_file_sums *sums, int64_t realtime_offset_ns)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct ft_scan_file *item = &files->items[i];
        uint32_t next = files->items[i + AHEAD < files->count ? i + AHEAD : i].entry;
        if (next != FT_ENTRY_NONE) {
            ft_file_sums_prefetch(sums, next);
        }
        if (item->entry == FT_ENTRY_NONE) {
            continue;
        }
        bool is_told = item->has_path_id && item->is_identified && item->first_ns != INT64_MAX;
        ft_file_sums_add(sums, item->entry, item->counts, item->metadata_time_ns,
                         is_told ? item->first_ns + realtime_offset_ns : INT64_MAX);
        if (item->moved) {
            ft_file_sums_add_moved(sums, item->entry, &files->moved[item->moved]);
        }
    }
}
