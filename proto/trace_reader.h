// SPDX-License-Identifier: MIT
//
// Reads one trace file, whole, torn, damaged or hostile.
//
// _open reads all of the file except the blocks' data: records into tables,
// block heads into a list. Blocks are decoded after that, one by one, by as many
// threads as one likes, each with a decoder of its own. Nothing is printed.
//
// Trust: the file may hold any bytes. Lengths are checked against the file's
// size and the maxima below before anything is allocated; ids that a row names
// may have no record (a damaged TABLES frame): look-ups then return NULL.
// Nothing that a file says makes a call fail that worked on its other parts: it
// is a problem in the reader's list, and is_partial.
//
// Memory: what _open keeps is bounded by options.memory_max, a decoder by about
// 16 MiB and the frame it reads (all of it touched only by blocks as large as they
// get). No file stays mapped, and no descriptor open but one in each decoder.
//
// Threads: after _open a reader does not change; all const functions may be
// called from any thread. A decoder belongs to one thread at a time.
#ifndef FT_PROTO_TRACE_READER_H
#define FT_PROTO_TRACE_READER_H

#include "proto/trace_record.h"

struct ft_trace_reader;
struct ft_trace_decoder;

struct ft_trace_reader_options {
    size_t memory_max; // bytes for tables and lists; 0 means FT_TRACE_MEMORY_DEFAULT
    // Called now and then while _open reads; may be NULL.
    void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
    void *progress_context;
    bool keep_resume; // also what trace_resume.h reads
    // What is shown in the place of a name (a path, too): the name itself, or another text, which stays as long as the
    // reader. Called once for each, when it is read; may be NULL.
    struct ft_bytes (*rename)(void *context, struct ft_bytes name);
    void *rename_context;
    // Of a set: which files are one over all its traces is not found out; it has none then. There may be millions.
    bool skip_set_files;
    // Names and files are read when they are asked for, where the file tells how to: look-ups of them (their _max, too)
    // are then for one thread at a time, and decoding a block's totals from its rows is such a look-up. What is wrong
    // with them is not found before.
    bool defer_names;
    // Of all records only what accounts are made of: numbers of processes and threads, which file goes on from which. What
    // names and texts they have is left out, and so are names, files, contexts, calls and gaps.
    bool numbers_only;
};
#define FT_TRACE_MEMORY_DEFAULT ((size_t)1 << 30)

// What is wrong with a file (enum ft_problem), and how severe that is. "damage": events
// or records are missing, the file is partial. "limit": it may be sound, but this reader
// has not all of it, and so is partial, too. "note": good to know, nothing is missing.
#define FT_PROBLEMS(X)                                                                          \
    X(1, DAMAGED, "damage", "bytes that are no whole frame")                                    \
    X(2, TORN, "damage", "the file ends inside a frame")                                        \
    X(3, NO_HEADER, "damage", "the file's header is missing")                                   \
    X(4, EMPTY, "damage", "the file is empty")                                                  \
    X(5, BAD_RECORD, "damage", "a record cannot be read")                                       \
    X(6, BAD_BLOCK, "damage", "a block of events cannot be read")                               \
    X(7, MISSING_RECORD, "damage", "events name records that are missing")                      \
    X(8, LIMIT, "limit", "what did not fit in the reader's memory limit was left out")          \
    X(9, BAD_TOTALS, "damage", "a block's totals differ from its events")                       \
    X(10, NOT_CLOSED, "note", "the file was not closed: its writer still runs or was killed")   \
    X(11, BAD_INDEX, "note", "the index at the end differs from the file")                      \
    X(12, UNKNOWN_FRAME, "note", "frames of a newer format were skipped")                       \
    X(13, GOES_ON, "note", "the file ends inside a frame, and the next one begins before that") \
    X(14, BEHIND_END, "damage", "bytes behind the trace's end, which are not read")             \
    X(15, ANOTHER_TRACE, "damage", "another trace, which begins here and is not read")

#define FT_PROBLEM_ENUM(value, name, severity, text) FT_PROBLEM_##name = value,
enum ft_problem { FT_PROBLEMS(FT_PROBLEM_ENUM) FT_PROBLEM_END };
#undef FT_PROBLEM_ENUM

struct ft_trace_problem {
    uint8_t kind;    // enum ft_problem
    uint64_t offset; // in the file, bytes
    uint64_t length; // bytes concerned, 0 where it does not apply
    uint64_t count;  // how many such (rows, records), at least 1
};

// Text of the kind; its severity as above; whether that is damage; whether it makes the reader partial.
const char *ft_problem_text(unsigned kind);
const char *ft_problem_severity(unsigned kind);
bool ft_problem_is_damage(unsigned kind);
bool ft_problem_is_partial(unsigned kind);

// Columns to decode (mask); a column that was not asked for may be NULL in the rows.
enum {
    FT_COL_START = 1 << 0,
    FT_COL_DUR = 1 << 1,
    FT_COL_CALL = 1 << 2, // call and kind
    FT_COL_FILE = 1 << 3,
    FT_COL_FILE2 = 1 << 4,
    FT_COL_FD = 1 << 5,
    FT_COL_SIZE = 1 << 6,
    FT_COL_OFFSET = 1 << 7,
    FT_COL_RESULT = 1 << 8,
    FT_COL_BYTES = 1 << 9,
    FT_COL_ARG = 1 << 10,
    FT_COL_ERR = 1 << 11,
    FT_COL_CONTEXT = 1 << 12,
    FT_COL_NAME = 1 << 13, // name and category
    FT_COL_FLAGS = 1 << 14,
    FT_COL_HAS = 1 << 15,  // which of size ... err are known; comes with each of them
    FT_COL_ARGS = 1 << 16, // arguments of application events
    FT_COL_ALL = (1 << 17) - 1,
};

// Rows [first, first + count) belong to this thread, in order of start.
struct ft_run {
    uint32_t thread;
    uint32_t first;
    uint32_t count;
};

// The columns, the wider ones first: so arrays of them lie aligned one behind the other.
#define FT_ROWS_COLUMNS(X) \
    X(int64_t, start_ns)   \
    X(int64_t, dur_ns)     \
    X(int64_t, size)       \
    X(int64_t, offset)     \
    X(int64_t, result)     \
    X(uint64_t, bytes)     \
    X(uint64_t, arg)       \
    X(uint32_t, file)      \
    X(uint32_t, file2)     \
    X(int32_t, fd)         \
    X(int32_t, err)        \
    X(uint32_t, context)   \
    X(uint32_t, name)      \
    X(uint32_t, category)  \
    X(uint32_t, first_arg) \
    X(uint16_t, call)      \
    X(uint16_t, flags)     \
    X(uint8_t, kind)       \
    X(uint8_t, has)        \
    X(uint8_t, arg_count)
#define FT_ROWS_MEMBER(type, name) const type *name;

// A decoded block: one array of `count` values for each column asked for. Valid
// until the decoder's next use. Unknown values are 0 (see has).
struct ft_rows {
    size_t count;
    const struct ft_run *runs;
    size_t run_count;
    FT_ROWS_COLUMNS(FT_ROWS_MEMBER)
    // Arguments of row i: args[first_arg[i]] and those behind it, arg_count[i] in all; arg_total of all rows. Types are
    // enum ft_arg_type, all below FT_ARG_TYPE_END (0: of a newer format).
    const struct ft_event_arg *args;
    size_t arg_total;
};

// Row i as an event; every column must have been decoded (FT_COL_ALL). `thread`
// is that of the run which holds the row.
static inline void ft_rows_event(const struct ft_rows *rows, size_t i, uint32_t thread, struct ft_event *out)
{
    *out = (struct ft_event){
        .start_ns = rows->start_ns[i],
        .dur_ns = rows->dur_ns[i],
        .size = rows->size[i],
        .offset = rows->offset[i],
        .result = rows->result[i],
        .bytes = rows->bytes[i],
        .arg = rows->arg[i],
        .thread = thread,
        .file = rows->file[i],
        .file2 = rows->file2[i],
        .fd = rows->fd[i],
        .err = rows->err[i],
        .context = rows->context[i],
        .name = rows->name[i],
        .category = rows->category[i],
        .call = rows->call[i],
        .flags = rows->flags[i],
        .kind = rows->kind[i],
        .has = rows->has[i],
        .arg_count = rows->arg_count[i],
        .first_arg = rows->first_arg[i],
    };
}

// What is known of a block without decoding it.
struct ft_trace_block {
    uint64_t offset; // of the frame in the file
    uint32_t head_len, data_len;
    uint32_t rows;
    uint64_t events;          // the same, but for a PROFILE frame: what its rows are sums of
    int64_t start_ns, end_ns; // first start, last end
};

// How much of each frame kind there is (for `flowtap info`), by enum
// ft_frame_kind; [0] is unknown kinds.
struct ft_trace_frames {
    uint64_t count;
    uint64_t bytes;
};
#define FT_TRACE_FRAME_KINDS 7

// Opens a file. 0, or -errno from the file system, or
//   -EBADMSG         no trace: not one whole frame in a file that does not begin like one
//   -EPROTONOSUPPORT a trace of another major version
//   -ENOMEM
// options may be NULL.
int ft_trace_reader_open(const char *path, const struct ft_trace_reader_options *options, struct ft_trace_reader **out);
// The same for bytes in memory, which must stay as long as the reader.
int ft_trace_reader_open_memory(const void *bytes, size_t len, const struct ft_trace_reader_options *options,
                                struct ft_trace_reader **out);
void ft_trace_reader_close(struct ft_trace_reader *reader); // NULL is fine; its decoders first

// All of the file that is not in blocks. Strings are NUL-terminated behind their
// len bytes. A missing header gives one of zeros and empty strings, with the realtime offset as the first clock record has it.
const char *ft_trace_reader_path(const struct ft_trace_reader *reader); // as opened; "(memory)"
const struct ft_trace_header *ft_trace_reader_header(const struct ft_trace_reader *reader);
uint64_t ft_trace_reader_size(const struct ft_trace_reader *reader);     // bytes, as it was at _open
uint64_t ft_trace_reader_events(const struct ft_trace_reader *reader);   // rows in all whole blocks
uint64_t ft_trace_reader_profiled(const struct ft_trace_reader *reader); // events that PROFILE frames are sums of

// Look-up by id; NULL (or an empty string with data "", or a file that is not is_known) where there is no such
// record. Ids run from 1 to _max, with holes where the file is damaged.
struct ft_bytes ft_trace_reader_name(const struct ft_trace_reader *reader, uint32_t id);
struct ft_trace_file ft_trace_reader_file(const struct ft_trace_reader *reader, uint32_t id);
const struct ft_trace_process *ft_trace_reader_process(const struct ft_trace_reader *reader, uint32_t id);
const struct ft_trace_thread *ft_trace_reader_thread(const struct ft_trace_reader *reader, uint32_t id);
const struct ft_trace_call *ft_trace_reader_call(const struct ft_trace_reader *reader, unsigned call);
// Tags of a context; count 0 where there is none.
const struct ft_tag *ft_trace_reader_context(const struct ft_trace_reader *reader, uint32_t id, size_t *count);

uint32_t ft_trace_reader_name_max(const struct ft_trace_reader *reader);
uint32_t ft_trace_reader_file_max(const struct ft_trace_reader *reader);
uint32_t ft_trace_reader_process_max(const struct ft_trace_reader *reader);
uint32_t ft_trace_reader_thread_max(const struct ft_trace_reader *reader);
uint32_t ft_trace_reader_context_max(const struct ft_trace_reader *reader);

// Path of a file's record ("" unknown) and enum ft_file_class of a file id
// (NONE for 0, UNKNOWN without a record).
struct ft_bytes ft_trace_reader_file_path(const struct ft_trace_reader *reader, uint32_t file);
unsigned ft_trace_reader_file_class(const struct ft_trace_reader *reader, uint32_t file);
// Process id of a thread id, 0 unknown.
uint32_t ft_trace_reader_thread_process(const struct ft_trace_reader *reader, uint32_t thread);

// Lists in file order.
const struct ft_trace_gap *ft_trace_reader_gaps(const struct ft_trace_reader *reader, size_t *count);
const struct ft_trace_loss *ft_trace_reader_losses(const struct ft_trace_reader *reader, size_t *count);
const struct ft_trace_clock *ft_trace_reader_clocks(const struct ft_trace_reader *reader, size_t *count);
const struct ft_trace_block *ft_trace_reader_blocks(const struct ft_trace_reader *reader, size_t *count);
// PROFILE frames, whose rows are sums of events. The decoder takes number i of them as block FT_TRACE_PROFILE | i; what a
// row's fields say is in trace-file.md.
const struct ft_trace_block *ft_trace_reader_profiles(const struct ft_trace_reader *reader, size_t *count);
#define FT_TRACE_PROFILE ((size_t)1 << 32)

// Problems that _open found (at most FT_TRACE_PROBLEMS_MAX are kept, the rest
// counted); whether any of them makes it partial; whether one of them is the memory limit; whether END was there.
#define FT_TRACE_PROBLEMS_MAX 1000
const struct ft_trace_problem *ft_trace_reader_problems(const struct ft_trace_reader *reader, size_t *count);
bool ft_trace_reader_is_partial(const struct ft_trace_reader *reader);
bool ft_trace_reader_is_limited(const struct ft_trace_reader *reader);
bool ft_trace_reader_is_closed(const struct ft_trace_reader *reader);
void ft_trace_reader_frames(const struct ft_trace_reader *reader, struct ft_trace_frames out[FT_TRACE_FRAME_KINDS]);

// A decoder serves any number of readers, one after the other, and keeps a
// descriptor of the last one's file.
int ft_trace_decoder_create(struct ft_trace_decoder **out);
void ft_trace_decoder_destroy(struct ft_trace_decoder *decoder); // NULL is fine

// Rows of block i, the columns of `mask` (FT_COL_*). 0, or -EBADMSG where the
// block's data is damaged (the other blocks are not concerned), -ESTALE where
// the file was replaced or cut since _open, -ENOMEM, -EIO and the like.
int ft_trace_decoder_rows(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                          uint32_t mask, struct ft_rows *out);

// Totals per call and file class of block i, from its head where that holds
// them, else from its rows. Valid until the decoder's next use. Errors as above.
int ft_trace_decoder_aggregates(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                                const struct ft_trace_aggregate **out, size_t *count);

// What the head of block i holds, without a look at its rows: whether they are
// worth it. aggregate_count 0: no totals in this head. Valid until the decoder's
// next use. Errors as above.
struct ft_trace_block_head {
    const struct ft_trace_aggregate *aggregates;
    size_t aggregate_count;
    const struct ft_run *runs;
    size_t run_count;
};
int ft_trace_decoder_head(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                          struct ft_trace_block_head *out);

// Slots that block i covers. Valid until the decoder's next use.
int ft_trace_decoder_ranges(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                            const struct ft_trace_range **out, size_t *count);

// Checks block i in full: crc, every column, order, references, totals. 0 and a
// list of its problems (count 0: sound), valid until the decoder's next use; or
// -errno where it could not be read at all. `flowtap verify` is this for each
// block, after ft_trace_reader_problems().
int ft_trace_decoder_verify(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                            const struct ft_trace_problem **out, size_t *count);

#endif
