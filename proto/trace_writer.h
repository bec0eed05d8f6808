// SPDX-License-Identifier: MIT
//
// Writes one trace file into memory; the caller moves the bytes to the disk.
//
//   ft_trace_writer_create(&header, NULL, &w);
//   file = ft_trace_writer_file(w, ft_trace_writer_name(w, path), ...);
//   id = ft_trace_writer_new_process(w, &process);
//   thread = ft_trace_writer_new_thread(w, &(struct ft_trace_thread){.process = id, ...});
//   ft_trace_writer_add(w, &event); ...                 until FT_TRACE_BLOCK_ROWS_MAX or the caller's own reasons
//   ft_trace_writer_end_block(w, ranges, range_count);   frames are in the buffer now
//   data = ft_trace_writer_data(w, &len); write(fd, data, len); ft_trace_writer_consume(w, written);
//   ...
//   ft_trace_writer_finish(w);  write what is left;  ft_trace_writer_destroy(w);
//
// Order: records are kept back and go out as one TABLES frame before the next
// block (or at _flush), so what a block uses always stands before it. A process
// record put again before that replaces the one kept back.
//
// Memory: names and files are kept for interning, everything else goes with the
// frames. ft_trace_writer_memory() says how much it is; a caller that wants a
// bound starts a new file (part n + 1) when it is passed. Rows cost
// sizeof(struct ft_event) each until the block ends.
//
// Errors: 0 or a positive id, else -errno: -ENOMEM, -EINVAL (an id that was
// never given, a length over the maxima), -EOVERFLOW (out of ids, or more than
// FT_TRACE_BLOCK_ROWS_MAX rows), -EPIPE (after _finish). After any error the
// writer is as it was before the call and can be used on.
//
// Threads: one at a time for each writer; different writers are independent.
#ifndef FT_PROTO_TRACE_WRITER_H
#define FT_PROTO_TRACE_WRITER_H

#include "proto/trace_record.h"

struct ft_trace_writer;

struct ft_trace_writer_options {
    // Tells name, category and group of a call id that a block uses for the first
    // time; false where it is not known. NULL: those of proto/calls.h, and what
    // ft_trace_writer_put_call() told before.
    bool (*describe_call)(unsigned call, struct ft_trace_call *out);
    int zlib_level; // of the columns; 0 means 1
};

// Longest string of a name or a field of a record, bytes; more is -EINVAL.
#define FT_TRACE_STRING_MAX 65536U
// Most entries of argv, claims, tags, in_call, dropped_calls of one record.
#define FT_TRACE_LIST_MAX 8192U

// The HEADER frame is in the buffer at once. header->major, minor are ignored.
int ft_trace_writer_create(const struct ft_trace_header *header, const struct ft_trace_writer_options *options,
                           struct ft_trace_writer **out);
void ft_trace_writer_destroy(struct ft_trace_writer *writer); // NULL is fine

// Interned: the same bytes (the same seven fields) give the same id again.
// An empty name is id 0.
int64_t ft_trace_writer_name(struct ft_trace_writer *writer, struct ft_bytes bytes);
int64_t ft_trace_writer_file(struct ft_trace_writer *writer, const struct ft_trace_file *file);
// Interned too: the same tags in the same order.
int64_t ft_trace_writer_context(struct ft_trace_writer *writer, const struct ft_tag *tags, size_t count);

// The path of a file that ft_trace_writer_file() gave, until the next name; its enum ft_file_class.
struct ft_bytes ft_trace_writer_file_path(const struct ft_trace_writer *writer, uint32_t file);
unsigned ft_trace_writer_file_class(const struct ft_trace_writer *writer, uint32_t file);

// New ids. Processes and threads are not interned: the caller knows who is who.
int64_t ft_trace_writer_new_process(struct ft_trace_writer *writer, const struct ft_trace_process *process);
int64_t ft_trace_writer_new_thread(struct ft_trace_writer *writer, const struct ft_trace_thread *thread);

// A newer record of an id that _new_process or _new_thread gave.
int ft_trace_writer_put_process(struct ft_trace_writer *writer, uint32_t id, const struct ft_trace_process *process);
int ft_trace_writer_put_thread(struct ft_trace_writer *writer, uint32_t id, const struct ft_trace_thread *thread);

int ft_trace_writer_put_gap(struct ft_trace_writer *writer, const struct ft_trace_gap *gap);
int ft_trace_writer_put_loss(struct ft_trace_writer *writer, const struct ft_trace_loss *loss);
int ft_trace_writer_put_clock(struct ft_trace_writer *writer, const struct ft_trace_clock *clock);
int ft_trace_writer_put_call(struct ft_trace_writer *writer, unsigned call, const struct ft_trace_call *text);

// One row of the block being built. Rows of a thread should come in order of
// publication; the block sorts each thread's rows by start, keeping the order of
// equal starts. -EINVAL: thread, file, file2, context, name or category was never given, the call is
// FT_TRACE_CALL_MAX or more, or start_ns or dur_ns are out of FT_TIME_LIMIT_NS.
int ft_trace_writer_add(struct ft_trace_writer *writer, const struct ft_event *event);
// Adds the event to the sums of its thread, context, file and call instead, which go out as a PROFILE frame. Errors as
// above; -EOVERFLOW with FT_TRACE_BLOCK_ROWS_MAX sums.
int ft_trace_writer_add_profiled(struct ft_trace_writer *writer, const struct ft_event *event);
// Events in these sums since the last PROFILE frame.
uint64_t ft_trace_writer_profiled(const struct ft_trace_writer *writer);

// Arguments of an event that is added next (its arg_count, at most FT_EVENT_ARGS_MAX); gives its first_arg. -EOVERFLOW:
// more than FT_TRACE_BLOCK_ROWS_MAX in this block.
int64_t ft_trace_writer_args(struct ft_trace_writer *writer, const struct ft_event_arg *args, size_t count);
// Arguments that this block still has room for.
size_t ft_trace_writer_args_left(const struct ft_trace_writer *writer);
// Rows added since the last block ended.
size_t ft_trace_writer_rows(const struct ft_trace_writer *writer);

// Ends the block: kept-back records and the block are in the buffer. Without
// rows only the records go (and ranges are refused with -EINVAL). Ranges say
// which slots the rows came from; their order does not matter.
int ft_trace_writer_end_block(struct ft_trace_writer *writer, const struct ft_trace_range *ranges, size_t range_count);
// The same of the sums; nothing happens where there are none and no ranges. Ranges are those of the summed events.
int ft_trace_writer_end_profile(struct ft_trace_writer *writer, const struct ft_trace_range *ranges,
                                size_t range_count);
// Throws rows and sums away (they were not written and are not accounted for here).
void ft_trace_writer_drop_rows(struct ft_trace_writer *writer);

// Puts the kept-back records into the buffer now.
int ft_trace_writer_flush(struct ft_trace_writer *writer);
// Flushes and adds INDEX and END. Rows of a block not ended, or sums, are an -EINVAL.
int ft_trace_writer_finish(struct ft_trace_writer *writer);

// The bytes not consumed yet; valid until the next call with this writer.
const uint8_t *ft_trace_writer_data(const struct ft_trace_writer *writer, size_t *len);
// The first `len` of them are in the file.
void ft_trace_writer_consume(struct ft_trace_writer *writer, size_t len);

// For a disk that is full. ft_trace_writer_whole() is the length of the file up
// to the end of the last frame that was consumed whole: truncate to it, then
// _rewind, and what stands in the buffer begins with a whole frame again.
uint64_t ft_trace_writer_whole(const struct ft_trace_writer *writer);
void ft_trace_writer_rewind(struct ft_trace_writer *writer);
// Takes the BLOCK and PROFILE frames out of the buffer and keeps the others (what was
// consumed must be whole frames, see above). Returns how many rows of blocks went.
uint64_t ft_trace_writer_drop_blocks(struct ft_trace_writer *writer);

// Bytes of memory that the writer holds, rows and buffer included.
size_t ft_trace_writer_memory(const struct ft_trace_writer *writer);
// Length of the file once all is consumed; rows in blocks so far.
uint64_t ft_trace_writer_bytes(const struct ft_trace_writer *writer);
uint64_t ft_trace_writer_events(const struct ft_trace_writer *writer);
// Gives back the memory for rows and columns where it stands idle.
void ft_trace_writer_trim(struct ft_trace_writer *writer);

#endif
