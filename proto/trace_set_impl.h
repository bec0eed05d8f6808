// SPDX-License-Identifier: MIT
//
// What the files of the trace set share.
#ifndef FT_PROTO_TRACE_SET_IMPL_H
#define FT_PROTO_TRACE_SET_IMPL_H

#include "proto/intern.h"
#include "proto/trace_reader_impl.h"
#include "proto/trace_set.h"

struct ft_set_reader {
    struct ft_trace_reader *reader;
    uint32_t host;
    // Indices of the set by the file's ids, FT_TRACE_SET_NONE without a record.
    uint32_t *processes, *threads, *files;
    uint32_t process_max, thread_max, file_max;
};

// The first record of a file: index of its reader, and its id there.
struct ft_set_file {
    uint32_t reader, id;
};

struct ft_trace_set {
    struct ft_set_reader *readers;
    size_t reader_count;
    struct ft_trace_set_block *blocks;
    size_t block_count;
    struct ft_trace_set_block *profiles;
    size_t profile_count;
    struct ft_trace_set_unreadable *unreadable;
    size_t unreadable_count, unreadable_cap;
    struct ft_trace_set_left_out *left_out;
    size_t left_out_count, left_out_cap;
    uint64_t events, profiled, bytes;
    size_t memory_max;
    bool is_partial;
    bool has_span;
    int64_t start_ns, end_ns;
    struct ft_intern hosts; // name, NUL, boot id; NUL, index of the reader where neither is known
    struct ft_trace_set_process *processes;
    struct ft_set_file *files;
    size_t process_cap, file_cap, file_count;
    uint64_t file_probes; // other files that the search for each passed by: what uniting costs
    // Identities: that of index i has id i + 1.
    struct ft_intern process_keys, thread_keys;
};

// A file that says nothing: empty, or cut in its header.
bool ft_set_is_empty(const struct ft_trace_reader *reader);
// Closes copies and files without a clock, and notes them; the readers are in order (trace_set_apart.c). 0 or -ENOMEM.
int ft_set_leave_out(struct ft_trace_set *set);
// Fills in hosts, processes, threads and files (trace_set_union.c). 0 or -ENOMEM.
int ft_set_unite(struct ft_trace_set *set, bool with_files);
// The files, where it did not.
int ft_set_unite_files(struct ft_trace_set *set);
// Then: a file without an exact birth is the first one that has one of the same inode and time, or one without any that
// has any (trace_set_births.c). 0 or -ENOMEM.
int ft_set_unite_births(struct ft_trace_set *set);

#endif
