// SPDX-License-Identifier: MIT
#include "client/cli/analysis_scan_files.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

enum { SLOTS_MIN = 1024, AHEAD = 8 };

void ft_scan_files_fini(struct ft_scan_files *files)
{
    free(files->slots);
    free(files->items);
    memset(files, 0, sizeof(*files));
}

void ft_scan_files_clear(struct ft_scan_files *files)
{
    if (files->count > 0) {
        memset(files->slots, 0, files->slot_count * sizeof(*files->slots));
    }
    files->count = 0;
    files->recent[0] = files->recent[1] = 0;
}

/* Entries are numbered by us, not by the file: nobody chooses them to collide. */
static size_t slot_of(const struct ft_scan_files *files, uint32_t entry)
{
    size_t mask = files->slot_count - 1;
    size_t at = (size_t)((uint64_t)entry * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
    while (files->slots[at].item != 0 && files->slots[at].entry != entry) {
        at = (at + 1) & mask;
    }
    return at;
}

static void grow(struct ft_scan_files *files)
{
    free(files->slots);
    files->slot_count = files->slot_count ? files->slot_count * 2 : SLOTS_MIN;
    files->slots = ft_cli_alloc(files->slot_count * sizeof(*files->slots));
    for (size_t i = 0; i < files->count; i++) {
        uint32_t entry = files->items[i].entry;
        files->slots[slot_of(files, entry)] = (struct ft_scan_slot){.entry = entry, .item = (uint32_t)i + 1};
    }
}

struct ft_scan_file *ft_scan_files_find(struct ft_scan_files *files, uint32_t entry)
{
    if (files->count * 2 >= files->slot_count) {
        grow(files);
    }
    struct ft_scan_slot *slot = &files->slots[slot_of(files, entry)];
    if (slot->item == 0) {
        if (files->count == files->space) {
            files->space = files->space ? files->space * 2 : SLOTS_MIN / 2;
            files->items = ft_cli_realloc(files->items, files->space, sizeof(*files->items));
        }
        files->items[files->count] = (struct ft_scan_file){.entry = entry, .sum.first_ns = INT64_MAX};
        *slot = (struct ft_scan_slot){.entry = entry, .item = (uint32_t)++files->count};
    }
    files->recent[1] = files->recent[0];
    files->recent[0] = slot->item - 1;
    return &files->items[slot->item - 1];
}

void ft_file_sum_add(struct ft_file_sum *to, const struct ft_file_sum *from)
{
    to->first_ns = from->first_ns < to->first_ns ? from->first_ns : to->first_ns;
    to->events += from->events;
    to->reads += from->reads;
    to->writes += from->writes;
    to->metadata += from->metadata;
    to->opens += from->opens;
    to->errors += from->errors;
    to->read_bytes += from->read_bytes;
    to->written_bytes += from->written_bytes;
    to->read_time_ns += from->read_time_ns;
    to->write_time_ns += from->write_time_ns;
    to->metadata_time_ns += from->metadata_time_ns;
}

void ft_scan_files_add_to(const struct ft_scan_files *files, struct ft_file_sum *sums)
{
    for (size_t i = 0; i < files->count; i++) {
        if (i + AHEAD < files->count) {
            const char *next = (const char *)&sums[files->items[i + AHEAD].entry];
            __builtin_prefetch(next, 1);
            __builtin_prefetch(next + sizeof(*sums) - 1, 1);
        }
        ft_file_sum_add(&sums[files->items[i].entry], &files->items[i].sum);
    }
}
