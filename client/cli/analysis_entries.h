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

/* What is in the trace already is looked up there: a job may have millions of them. */
struct ft_entry {
    uint32_t reader, file; /* where its record stands, and whose ids the record's ids are */
};

/* What a scan needs to know of a file id, close together. */
struct ft_entry_ref {
    uint32_t entry;     /* index, or FT_ENTRY_NONE */
    uint8_t file_class; /* enum ft_file_class */
    bool is_identified, is_memory;
    bool has_path_id; /* its entry */
};

struct ft_entries {
    struct ft_entry *items;
    size_t count, space;
    uint32_t *path_ids; /* see ft_entry_path_id(); NULL: none has one */
    const struct ft_trace_set *set;
    struct ft_entry_ref **of; /* by reader and file id */
    size_t reader_count;
};

void ft_entries_read(struct ft_entries *entries, const struct ft_trace_set *set);
void ft_entries_fini(struct ft_entries *entries);

/* Each entry has one. */
static inline struct ft_trace_file ft_entry_record(const struct ft_entries *entries, const struct ft_entry *entry)
{
    return ft_trace_reader_file(ft_trace_set_reader(entries->set, entry->reader), entry->file);
}

static inline struct ft_bytes ft_entry_path(const struct ft_entries *entries, const struct ft_entry *entry)
{
    return ft_trace_reader_file_path(ft_trace_set_reader(entries->set, entry->reader), entry->file);
}

/* The same for entries of one host and path; NONE where no others have the same set_file. */
static inline uint32_t ft_entry_path_id(const struct ft_entries *entries, uint32_t entry)
{
    return entries->path_ids ? entries->path_ids[entry] : FT_ENTRY_NONE;
}

static inline uint32_t ft_entry_set_file(const struct ft_entries *entries, const struct ft_entry *entry)
{
    return ft_trace_set_file_of(entries->set, entry->reader, entry->file);
}

static inline uint32_t ft_entry_host(const struct ft_entries *entries, const struct ft_entry *entry)
{
    return ft_trace_set_reader_host(entries->set, entry->reader);
}

static inline bool ft_entry_is_identified(struct ft_trace_file record)
{
    return record.dev || record.inode;
}

#endif
