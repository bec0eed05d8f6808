// SPDX-License-Identifier: MIT
//
// Many trace files read as one job: parts, hosts and users together.
//
// Processes, hosts and files have indices of the set here, from 0 and dense, so
// that totals can be kept in arrays. A process that is in several parts of one
// host is one; its record is the one of the last part. Threads are told apart
// by ft_trace_set_thread().
//
// Threads: after _open a set does not change; all const functions may be called
// from any thread.
#ifndef FT_PROTO_TRACE_SET_H
#define FT_PROTO_TRACE_SET_H

#include "proto/trace_reader.h"

struct ft_trace_set;

#define FT_TRACE_SET_NONE UINT32_MAX

// The path that could not be opened, and why (-errno as ft_trace_reader_open();
// -ENODATA: a folder without any trace).
struct ft_trace_set_error {
    char *path; // free() it; NULL where it is not about one path
    int error;
};

// Opens files and, in folders of any depth, every *.flow in them (symbolic links
// in folders are not followed). All or nothing for paths that are named; a file
// found in a folder that is no trace is counted in _unreadable() and makes the
// set partial; where all of them are such, the error is that of one of them. A file that is named twice is read once, and
// of copies the one with most events. A file whose clock is lost is read where it is alone; beside others it is left out,
// and the set is partial. memory_max is for the whole set. error may be NULL.
int ft_trace_set_open(const char *const *paths, size_t path_count, const struct ft_trace_reader_options *options,
                      struct ft_trace_set **out, struct ft_trace_set_error *error);
void ft_trace_set_close(struct ft_trace_set *set); // NULL is fine
// Of a set that was opened with skip_set_files and defer_names: reads what that left out, in what is left of memory_max.
// Then it is as if it had been opened without. 0, or -ENOMEM: it is only good to be closed.
int ft_trace_set_read_rest(struct ft_trace_set *set);

// The files, in order of host, part and path.
size_t ft_trace_set_reader_count(const struct ft_trace_set *set);
const struct ft_trace_reader *ft_trace_set_reader(const struct ft_trace_set *set, size_t reader);

// Every block of every file, largest first: work for a pool of threads.
struct ft_trace_set_block {
    uint32_t reader;
    uint32_t block;
};
const struct ft_trace_set_block *ft_trace_set_blocks(const struct ft_trace_set *set, size_t *count);
// The PROFILE frames of every file, in the files' order (FT_TRACE_PROFILE | block for a decoder).
const struct ft_trace_set_block *ft_trace_set_profiles(const struct ft_trace_set *set, size_t *count);

uint64_t ft_trace_set_events(const struct ft_trace_set *set);   // rows in all blocks
uint64_t ft_trace_set_profiled(const struct ft_trace_set *set); // events that PROFILE frames are sums of
uint64_t ft_trace_set_bytes(const struct ft_trace_set *set);    // of all files
bool ft_trace_set_is_partial(const struct ft_trace_set *set);
bool ft_trace_set_is_limited(const struct ft_trace_set *set); // one of its files at least did not fit in memory_max
size_t ft_trace_set_memory(const struct ft_trace_set *set);   // bytes that its files' records take
// For another reader of a file of this set, opened alone: what of it is torn but in a file that goes on from it is no
// damage. _open did this for its own readers. `index` is none of the set's for a file that was left out.
void ft_trace_set_explain(const struct ft_trace_set *set, size_t index, struct ft_trace_reader *reader);
// Whether this file's end is told: it was closed, or another file of the set goes on from it.
bool ft_trace_set_is_ended(const struct ft_trace_set *set, size_t reader);
// How many are not. That is no damage: what is in them is whole.
size_t ft_trace_set_unclosed(const struct ft_trace_set *set);

// Files of folders that could not be opened.
struct ft_trace_set_unreadable {
    char *path;
    int error; // as of ft_trace_reader_open()
};
const struct ft_trace_set_unreadable *ft_trace_set_unreadable(const struct ft_trace_set *set, size_t *count);
// "not readable as a trace", or what the system said.
const char *ft_trace_set_unreadable_text(int error);

// Files that could be opened, but are no part of the set.
struct ft_trace_set_left_out {
    char *path;
    char *
        copy_of; // another file of the set: the same header, or where that is lost, the same block; NULL: its clock is lost, its times fit no other's
};
const struct ft_trace_set_left_out *ft_trace_set_left_out(const struct ft_trace_set *set, size_t *count);

// Hosts: distinct (host name, boot id). A file whose header is damaged is of a host of its own, without a name.
size_t ft_trace_set_host_count(const struct ft_trace_set *set);
struct ft_bytes ft_trace_set_host_name(const struct ft_trace_set *set, uint32_t host);
uint32_t ft_trace_set_reader_host(const struct ft_trace_set *set, size_t reader);

// Nanoseconds since the epoch of a CLOCK_MONOTONIC time of this file.
int64_t ft_trace_set_realtime_ns(const struct ft_trace_set *set, size_t reader, int64_t mono_ns);
// First start and last end of all events and processes, ns since the epoch.
// false where there is neither.
bool ft_trace_set_span(const struct ft_trace_set *set, int64_t *start_ns, int64_t *end_ns);

// Processes.
struct ft_trace_set_process {
    uint32_t host;
    uint32_t reader; // whose ids the record's ids (parent, in_call.file) are
    uint32_t parent; // index of the set, FT_TRACE_SET_NONE unknown; no circles
    const struct ft_trace_process *record;
};
size_t ft_trace_set_process_count(const struct ft_trace_set *set);
const struct ft_trace_set_process *ft_trace_set_process(const struct ft_trace_set *set, uint32_t process);
// Index of a file's process id, FT_TRACE_SET_NONE without a record.
uint32_t ft_trace_set_process_of(const struct ft_trace_set *set, size_t reader, uint32_t process_id);
uint32_t ft_trace_set_process_of_thread(const struct ft_trace_set *set, size_t reader, uint32_t thread_id);

// Threads: distinct (process, ordinal, tid).
size_t ft_trace_set_thread_count(const struct ft_trace_set *set);
uint32_t ft_trace_set_thread(const struct ft_trace_set *set, size_t reader, uint32_t thread_id);

// Files: distinct (host, mount point, dev, inode, birth) where dev and inode are known,
// else (host, path). A file without a birth (0), or without an exact one (birth.h), is the first one, in the order of the
// files and of the ids in them, that has one and is the same in all else, the time of an exact one included. The path is
// the first one seen of those that have what is known of it.
struct ft_trace_set_file {
    uint32_t host;
    uint32_t reader; // whose ids the record's ids are
    struct ft_bytes path;
    struct ft_trace_file record;
};
size_t ft_trace_set_file_count(const struct ft_trace_set *set);
// Fills in `out` and returns it. ft_trace_set_file(): the same in memory of the block that asks.
const struct ft_trace_set_file *ft_trace_set_file_get(const struct ft_trace_set *set, uint32_t file,
                                                      struct ft_trace_set_file *out);
#define ft_trace_set_file(set, file) ft_trace_set_file_get(set, file, &(struct ft_trace_set_file){0})
uint32_t ft_trace_set_file_of(const struct ft_trace_set *set, size_t reader, uint32_t file_id);

#endif
