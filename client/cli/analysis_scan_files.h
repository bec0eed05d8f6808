// SPDX-License-Identifier: MIT
/*
 * Sums of the files of one block, in memory that stays in the cache; what a scan keeps for all files is touched once for
 * each block and file. For analysis_scan_part.c.
 */
#ifndef FT_CLI_ANALYSIS_SCAN_FILES_H
#define FT_CLI_ANALYSIS_SCAN_FILES_H

#include "client/cli/analysis_entries.h"
#include "client/cli/analysis_file_sums.h"

/* Of files, as far as calls count for them differently. */
enum { FT_SCAN_VARIANTS = 8 };

/* A line of the cache. */
struct ft_scan_file {
    uint32_t id;              /* of the block's reader */
    uint32_t run, second_run; /* in which it was touched last, as the first and the second file of a call; 0: none */
    uint32_t entry;           /* FT_ENTRY_NONE: none */
    ft_scan_counts counts;
    int64_t first_ns; /* monotonic; INT64_MAX: none; of files that are not identified it says nothing */
    uint64_t metadata_time_ns;
    uint32_t moved;     /* where it stands in `moved`, see ft_scan_files_moved(); 0: nothing yet */
    uint8_t file_class; /* enum ft_file_class */
    uint8_t variant;    /* ft_scan_variant() */
    bool is_identified, is_memory, has_path_id; /* as of ft_entry_ref */
};
_Static_assert(sizeof(struct ft_scan_file) == 64, "a line of the cache");

struct ft_scan_files {
    uint32_t *places; /* by file id: where it may stand in `items`; what stands there knows whether it does */
    struct ft_scan_file *items;
    size_t count, space;
    struct ft_scan_moved *moved; /* the first one is nobody's */
    size_t moved_count, moved_space;
    const struct ft_entry_ref *refs; /* of the block's reader, by file id up to file_max */
    uint32_t file_max;
    bool are_variants; /* one item stands for all files of a variant: what is asked for needs no more */
};

static inline unsigned ft_scan_variant(unsigned file_class, bool is_memory)
{
    return (file_class | (unsigned)is_memory << 2) % FT_SCAN_VARIANTS;
}

/* Of ids without a record. */
extern const struct ft_entry_ref ft_scan_files_none;

/* For readers with file ids below `place_count`; 0: for variants alone. */
void ft_scan_files_init(struct ft_scan_files *files, size_t place_count);
void ft_scan_files_fini(struct ft_scan_files *files);
void ft_scan_files_begin(struct ft_scan_files *files, const struct ft_entry_ref *refs, uint32_t file_max);
/* Items of other blocks are left where they stood: their runs become none. */
void ft_scan_files_forget_runs(struct ft_scan_files *files);
/* Index of a file that was not there yet. */
uint32_t ft_scan_files_add(struct ft_scan_files *files, uint32_t id);
/* Place of a file of which nothing was read or written yet. */
uint32_t ft_scan_files_add_moved(struct ft_scan_files *files);

static inline uint32_t ft_scan_files_variant(const struct ft_scan_files *files, uint32_t id)
{
    const struct ft_entry_ref *ref = id <= files->file_max ? &files->refs[id] : &ft_scan_files_none;
    return ft_scan_variant(ref->file_class, ref->is_memory);
}

/* Index of a file's item. Ids without a record share one. */
static inline uint32_t ft_scan_files_at(struct ft_scan_files *files, uint32_t id)
{
    id = id <= files->file_max ? id : files->file_max + 1;
    if (files->are_variants) {
        return ft_scan_files_variant(files, id);
    }
    uint32_t at = files->places[id];
    return at < files->count && files->items[at].id == id ? at : ft_scan_files_add(files, id);
}

/* Valid until the next file's. */
static inline struct ft_scan_moved *ft_scan_files_moved(struct ft_scan_files *files, struct ft_scan_file *file)
{
    if (file->moved == 0) {
        file->moved = ft_scan_files_add_moved(files);
    }
    return &files->moved[file->moved];
}

/* Adds all to the sums of all files. Times become those since the epoch by adding the offset. */
void ft_scan_files_add_to(const struct ft_scan_files *files, struct ft_file_sums *sums, int64_t realtime_offset_ns);

#endif
