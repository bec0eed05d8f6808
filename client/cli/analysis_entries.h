// SPDX-License-Identifier: MIT
/*
 * Files as they are counted: one entry for each path of each file of the set. Entries of one file are put together after
 * the scan (analysis_reuse.h), since only the events tell whether an inode was used again for another file.
 *
 * What is known by its path only (stat of a path, an open that failed) belongs to the entry that has this path and is
 * known by device and inode, where there is one.
 */
#ifndef FT_CLI_ANALYSIS_ENTRIES_H
#define FT_CLI_ANALYSIS_ENTRIES_H

#include "proto/trace_set.h"

#define FT_ENTRY_NONE UINT32_MAX

struct ft_entry {
    struct ft_bytes path;
    uint32_t host, set_file;
    uint32_t reader; /* whose ids the record's ids are */
    const struct ft_trace_file *record;
    uint32_t
        path_id; /* the same for entries of one host and path; only where others have the same set_file, else NONE */
};

/* What a scan needs to know of a file id, close together. */
struct ft_entry_ref {
    uint32_t entry;     /* index, or FT_ENTRY_NONE */
    uint8_t file_class; /* enum ft_file_class */
    bool is_identified, is_memory;
};

struct ft_entries {
    struct ft_entry *items;
    size_t count, space;
    struct ft_entry_ref **of; /* by reader and file id */
    size_t reader_count;
};

void ft_entries_read(struct ft_entries *entries, const struct ft_trace_set *set);
void ft_entries_fini(struct ft_entries *entries);

static inline bool ft_entry_is_identified(const struct ft_trace_file *record)
{
    return record && (record->dev || record->inode);
}

#endif
