// SPDX-License-Identifier: MIT
/*
 * Sums of the files of one block, in memory that stays in the cache; what a scan keeps for all files is touched once for
 * each block and file. For analysis_scan_part.c.
 */
#ifndef FT_CLI_ANALYSIS_SCAN_FILES_H
#define FT_CLI_ANALYSIS_SCAN_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ft_file_sum {
    int64_t first_ns; /* first event that is known to be this file's, since the epoch; INT64_MAX: none */
    uint64_t events;  /* all of this file's, whatever they are */
    uint64_t errors, opens, metadata, metadata_time_ns;
    uint64_t reads, read_bytes, read_time_ns;
    uint64_t writes, written_bytes, write_time_ns;
    uint32_t processes; /* that touched it */
};

struct ft_scan_file {
    uint32_t entry, run; /* run: in which it was touched last; 0: none */
    struct ft_file_sum sum;
};

/* The entry stands here too, since the items are far apart. */
struct ft_scan_slot {
    uint32_t entry, item; /* item: index + 1; 0: free */
};

struct ft_scan_files {
    struct ft_scan_slot *slots; /* by hash of the entry */
    size_t slot_count;
    struct ft_scan_file *items;
    size_t count, space;
    uint32_t recent[2]; /* items, the latest first: a thread stays with a file, or goes back and forth */
};

void ft_scan_files_fini(struct ft_scan_files *files);
void ft_scan_files_clear(struct ft_scan_files *files);
struct ft_scan_file *ft_scan_files_find(struct ft_scan_files *files, uint32_t entry);
/* Valid until the next call. */
static inline struct ft_scan_file *ft_scan_files_get(struct ft_scan_files *files, uint32_t entry)
{
    for (int i = 0; i < 2 && files->count > 0; i++) {
        struct ft_scan_file *file = &files->items[files->recent[i]];
        if (file->entry == entry) {
            return file;
        }
    }
    return ft_scan_files_find(files, entry);
}

/* Adds everything but `processes`. */
void ft_file_sum_add(struct ft_file_sum *to, const struct ft_file_sum *from);
/* Adds all to the sums of all files. */
void ft_scan_files_add_to(const struct ft_scan_files *files, struct ft_file_sum *sums);

#endif
