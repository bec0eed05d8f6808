// SPDX-License-Identifier: MIT
//
// What a writer leaves in its file for the one that goes on after it (the messages Resume, Known, Tagged, Expected and
// TakenOver of proto/trace.proto; "Going on" in proto/trace-file.md tells when they are written and how they are read).
// Readers of events need none of it but TakenOver.
//
// Ids of processes are the file's; ids of names are those of the process's segment.
#ifndef FT_PROTO_TRACE_RESUME_H
#define FT_PROTO_TRACE_RESUME_H

#include "proto/trace_reader.h"
#include "proto/trace_writer.h"

enum { FT_RESUME_GAPS_MAX = 16 };

struct ft_trace_resume {
    uint32_t process;
    uint64_t offset; // reader: of its frame
    uint64_t start_time;
    uint32_t clock, image, gid;
    uint64_t parent_segment, segment_before;
    uint64_t stored, vfork_rows;
    struct ft_trace_kernel first, children;
    uint64_t dropped[FT_CAUSE_COUNT];
    const struct ft_trace_dropped *dropped_calls;
    size_t dropped_calls_count;
    uint64_t gaps[FT_RESUME_GAPS_MAX];
    uint64_t names_lost;
    int64_t last_event_ns;
};

enum ft_known_bits {
    FT_KNOWN_KEPT = 1,      // a descriptor's, or a string: it stays when a call has used it
    FT_KNOWN_CUT = 2,       // the text is a prefix
    FT_KNOWN_HAS_INODE = 4, // device and inode are known
    FT_KNOWN_CLOSED = 8,    // told before, and closed since
};

struct ft_trace_known {
    uint32_t process, id, base;
    uint8_t bits;    // enum ft_known_bits
    uint8_t kind;    // enum ft_file_kind_wire
    uint8_t define;  // enum ft_define
    uint16_t length; // of the whole name; 0: `text` is all of it
    struct ft_bytes text;
    uint64_t device, inode, birth;
};

struct ft_trace_line_tags {
    uint32_t line, tid, ordinal;
    const uint32_t *tags;
    size_t count;
};

struct ft_trace_tagged {
    uint32_t process;
    const uint32_t *all;
    size_t all_count;
    const struct ft_trace_line_tags *lines;
    size_t line_count;
};

struct ft_trace_expected {
    uint32_t pid;
    struct ft_bytes path;
    uint8_t way, follow; // as the writer has them; follow: enum ft_follow of proto/ring.h
    bool is_inside;      // pid is a number of its parent's pid namespace
    uint32_t uid, gid;
    uint64_t parent; // segment of the process that tells of it
    uint32_t parent_pid;
    int64_t since_ns; // what attaches from then on may be it
};

struct ft_trace_taken_over {
    uint32_t part;
    uint64_t bytes;
};

// Writing: as the other records of trace_writer.h.
int ft_trace_writer_put_resume(struct ft_trace_writer *writer, const struct ft_trace_resume *resume);
int ft_trace_writer_put_known(struct ft_trace_writer *writer, const struct ft_trace_known *known);
int ft_trace_writer_put_expected(struct ft_trace_writer *writer, const struct ft_trace_expected *expected);
int ft_trace_writer_put_taken_over(struct ft_trace_writer *writer, const struct ft_trace_taken_over *taken_over);
// with_block: where there are rows it goes into the head of the block that ends next, so that it holds if and only if
// they are in the file; dropping the rows drops it.
int ft_trace_writer_put_tagged(struct ft_trace_writer *writer, const struct ft_trace_tagged *tagged, bool with_block);

// Reading, of a reader that was opened with options.keep_resume. Lists in file order; ids may be of no record.
const struct ft_trace_resume *ft_trace_reader_resumes(const struct ft_trace_reader *reader, size_t *count);
const struct ft_trace_known *ft_trace_reader_known(const struct ft_trace_reader *reader, size_t *count);
const struct ft_trace_tagged *ft_trace_reader_tagged(const struct ft_trace_reader *reader, size_t *count);
const struct ft_trace_expected *ft_trace_reader_expected(const struct ft_trace_reader *reader, size_t *count);
// Of any reader.
const struct ft_trace_taken_over *ft_trace_reader_taken_over(const struct ft_trace_reader *reader, size_t *count);
// Bytes of whole frames at the file's begin: all but a last one that was not finished.
uint64_t ft_trace_reader_whole(const struct ft_trace_reader *reader);
// What was not finished behind the first `bytes` bytes is in another file: nothing is missing.
void ft_trace_reader_explain(struct ft_trace_reader *reader, uint64_t bytes);

// Runs of block i, from its head alone. Valid until the decoder's next use. Errors as ft_trace_decoder_rows().
int ft_trace_decoder_runs(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                          const struct ft_run **out, size_t *count);

#endif
