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
    uint64_t reads, writes, metadata, opens, errors;
    uint64_t read_bytes, written_bytes;
    uint64_t read_time_ns, write_time_ns, metadata_time_ns;
    uint32_t processes; /* that touched it */
};

struct ft_scan_file {
    uint32_t entry, run; /* run: in which it was touched last; 0: none */
    struct ft_file_sum sum;
};

struct ft_scan_files {
    uint32_t *slots; /* index + 1 by hash of the entry; 0: free */
    size_t slot_count;
    struct ft_scan_file *items;
    size_t count, space;
};

void ft_scan_files_fini(struct ft_scan_files *files);
void ft_scan_files_clear(struct ft_scan_files *files);
/* Valid until the next call. */
struct ft_scan_file *ft_scan_files_get(struct ft_scan_files *files, uint32_t entry);

/* Adds everything but `processes`. */
void ft_file_sum_add(struct ft_file_sum *to, const struct ft_file_sum *from);
/* Adds all to the sums of all files. */
void ft_scan_files_add_to(const struct ft_scan_files *files, struct ft_file_sum *sums);

#endif
