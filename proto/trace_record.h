// SPDX-License-Identifier: MIT
//
// The records of a trace file other than events, as plain structs. Writer and
// reader share them. Which message and field of proto/trace.proto each one
// becomes is told by the same name there.
//
// Ids (names, files, processes, threads, contexts) are local to one file, start
// at 1 and are given in order; 0 is "none". Times are CLOCK_MONOTONIC
// nanoseconds of the file's host; add ft_trace_header.realtime_offset_ns for
// nanoseconds since the epoch.
//
// Strings are bytes with a length: names of files hold any byte but NUL, claims
// of clients any byte at all. Pointers given to the writer are read during the
// call only; pointers given by the reader belong to it.
#ifndef FT_PROTO_TRACE_RECORD_H
#define FT_PROTO_TRACE_RECORD_H

#include "proto/birth.h"
#include "proto/trace_event.h"

// Version of the format that this library writes. A reader refuses another
// major; a larger minor adds frame kinds, columns or fields that may be skipped.
#define FT_TRACE_MAJOR 1
#define FT_TRACE_MINOR 1 // 1: births are as in proto/birth.h

// Largest id of any record. A reader also refuses ids that are out of proportion
// to the file's size.
#define FT_TRACE_ID_MAX (UINT32_C(1) << 26)

// Most rows in one block.
#define FT_TRACE_BLOCK_ROWS_MAX 65536

// Times of the monotonic clock are within (-LIMIT, LIMIT), durations within
// [0, LIMIT), offsets to the realtime clock within (-4 LIMIT, 4 LIMIT): a start
// plus a duration plus an offset never overflows. The writer refuses others, the
// reader gives 0 in records and calls a block with others damaged.
#define FT_TIME_LIMIT_NS (INT64_C(1) << 60)

struct ft_bytes {
    const char *data; // not NUL-terminated from the writer's side; may be NULL when len is 0
    size_t len;
};

// Bytes of a string literal or NUL-terminated string.
#define FT_BYTES(text) ((struct ft_bytes){.data = (text), .len = __builtin_strlen(text)})

struct ft_tag {
    struct ft_bytes key;
    struct ft_bytes value;
};

struct ft_trace_job {
    struct ft_bytes id;
    struct ft_bytes workflow;
    struct ft_bytes step;
    uint8_t source; // enum ft_job_source, as of the three below
    uint8_t step_source, rank_source, local_rank_source;
    int32_t rank;       // -1 unknown
    int32_t local_rank; // -1 unknown
};

struct ft_trace_header {
    uint32_t major, minor;  // set by the writer
    struct ft_bytes writer; // program and version that wrote the file
    struct ft_bytes host;
    struct ft_bytes boot_id; // 36 characters of /proc/sys/kernel/random/boot_id
    struct ft_bytes user;    // name of uid
    uint32_t uid;
    struct ft_trace_job job;    // rank and step not used here
    int64_t realtime_offset_ns; // CLOCK_REALTIME - CLOCK_MONOTONIC, fixed per host and boot at the job's first process
    uint64_t clock_error_ns;    // bound of the error of start and duration
    int64_t created_ns;         // CLOCK_REALTIME
    uint32_t part;              // n of <host>-<boot>-<n>.flow
};

struct ft_trace_file {
    uint32_t path;       // NAME id, 0 unknown
    uint32_t mount;      // NAME id of the mount point, 0 unknown
    uint32_t fstype;     // NAME id, 0 unknown
    uint32_t block_size; // of the file system, 0 unknown
    uint64_t dev;        // dev_t as the kernel gives it, makedev(major, minor)
    uint64_t inode;
    uint64_t birth; // proto/birth.h; 0 unknown
    uint8_t kind;   // enum ft_file_kind
    uint8_t source; // enum ft_path_source
    bool is_cut;    // the path is a prefix
    bool is_exact;  // of the reader: the birth is
    bool is_known;  // of the reader: whether there is such a record; else all are zeros
};

struct ft_trace_thread {
    uint32_t process; // PROCESS id
    uint32_t tid;     // in the host's pid namespace if known, else the program's own; 0 unknown
    uint32_t ordinal; // nth thread of its process, 0 the first
    struct ft_bytes name;
};

// What a thread was in when it was last looked at.
struct ft_trace_in_call {
    uint32_t tid;
    uint16_t call;
    uint32_t file;
    int64_t since_ns;
};

// Totals of one call's dropped events.
struct ft_trace_dropped {
    uint16_t call;
    uint64_t count, bytes, time_ns;
};

// The kernel's own counters (/proc/PID/io, taskstats).
struct ft_trace_kernel {
    bool is_known;
    uint64_t rchar, wchar, read_bytes, write_bytes, syscr, syscw, major_faults;
};

struct ft_trace_process {
    uint32_t pid;    // on the host
    uint32_t ns_pid; // in its own pid namespace, 0 unknown
    uint32_t parent_pid;
    uint32_t parent; // PROCESS id of the parent, or of the image before an exec; 0 unknown
    bool is_exec;    // an exec'ed image of the same pid
    int64_t start_ns;
    int64_t end_ns; // 0 while it runs
    uint32_t uid;
    uint64_t segment; // identity of its segment, 0 none
    struct ft_bytes exe, cwd, user;
    const struct ft_bytes *argv;
    size_t argv_count;
    bool is_argv_cut;
    const struct ft_tag *claims; // environment that it claims
    size_t claims_count;
    const struct ft_tag *tags;
    size_t tags_count;
    const struct ft_tag *own_tags; // that it set for itself, as they held last; its events have them in their contexts
    size_t own_tags_count;
    struct ft_trace_job job;
    uint8_t exit;        // enum ft_exit
    uint8_t exit_source; // enum ft_exit_source
    int32_t exit_value;  // code or signal number
    struct ft_trace_kernel kernel;
    const struct ft_trace_in_call *in_call;
    size_t in_call_count;
    uint64_t emitted; // read from the threads' lines
    uint64_t stored;  // rows in blocks of this job's files
    uint64_t dropped[FT_CAUSE_COUNT];
    const struct ft_trace_dropped *dropped_calls;
    size_t dropped_calls_count;
    uint64_t names_lost;
    uint64_t bad_values; // settings that could not be used
};

struct ft_trace_gap {
    uint8_t kind;     // enum ft_gap
    uint32_t pid;     // on the host, 0 unknown
    uint32_t process; // PROCESS id, 0 none
    uint64_t count;   // how many times, at least 1
    int64_t when_ns;  // CLOCK_MONOTONIC, 0 unknown
    struct ft_bytes exe;
    struct ft_bytes reason; // for a person
    uint64_t parent;        // of a child that did not come: segment of the process that told of it; 0 none
    uint32_t inside_pid;    // its number in that one's pid namespace, where `pid` is not known for that
};

// Events of a process that are in no block, told apart from the process record
// when it happens (a full disk, a corrupt segment). Not to be added to
// ft_trace_process.dropped, which holds the same events in the end.
struct ft_trace_loss {
    uint8_t cause;    // enum ft_cause
    uint32_t process; // PROCESS id, 0 unknown
    uint64_t count;
    int64_t when_ns;
};

struct ft_trace_clock {
    int64_t mono_ns;
    uint64_t ticks;
    int64_t realtime_offset_ns; // as seen then; shown, never applied
};

// A call id that the file uses: readers need no call table of their own.
struct ft_trace_call {
    struct ft_bytes name;
    struct ft_bytes category;
    uint8_t group; // enum ft_group of proto/calls.h
};

// Slots [from, to) of one filling of one chunk: the rows of the block cover them.
struct ft_trace_range {
    uint64_t segment;
    uint64_t fill;
    uint32_t chunk;
    uint32_t from, to;
};

// Histogram over log2: bucket 0 counts zeros, bucket b counts [2^(b-1), 2^b).
#define FT_LOG2_BUCKETS 65
static inline unsigned ft_log2_bucket(uint64_t value)
{
    return value ? 64U - (unsigned)__builtin_clzll(value) : 0;
}

// Totals of the rows with one key. Rows of different blocks with the same key
// add up (min and max aside).
struct ft_trace_aggregate {
    // the key
    uint16_t call;
    uint8_t kind;            // enum ft_event_kind
    uint8_t file_class;      // enum ft_file_class of `file`
    uint8_t file2_class;     // of `file2`
    uint32_t name, category; // application events
    // what it adds up
    uint64_t count;
    uint64_t errors;                     // rows with err != 0
    uint64_t bytes;                      // sum of `bytes` where known
    uint64_t time_ns;                    // sums wrap only after 584 years
    uint64_t min_ns, max_ns;             // of the durations
    uint64_t sizes[FT_LOG2_BUCKETS];     // of `bytes`, rows that have it
    uint64_t durations[FT_LOG2_BUCKETS]; // of dur_ns, all rows
};

#endif
