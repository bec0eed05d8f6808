// SPDX-License-Identifier: MIT
//
// What the files of the trace reader share.
#ifndef FT_PROTO_TRACE_READER_IMPL_H
#define FT_PROTO_TRACE_READER_IMPL_H

#include "proto/arena.h"
#include "proto/frame.h"
#include "proto/trace.pb-c.h"
#include "proto/trace_reader.h"
#include "proto/trace_resume.h"
#include "proto/trace_source.h"

// Unpacked messages of one frame: what the writer makes stays far below.
#define FT_READER_MESSAGE_MAX ((size_t)128 << 20)

// Untrusted times of records.
static inline int64_t ft_time_or_zero(int64_t ns)
{
    return ns > -FT_TIME_LIMIT_NS && ns < FT_TIME_LIMIT_NS ? ns : 0;
}

static inline int64_t ft_offset_or_zero(int64_t ns)
{
    return ns > -4 * FT_TIME_LIMIT_NS && ns < 4 * FT_TIME_LIMIT_NS ? ns : 0;
}

// Items by id, in pages, so that an id out of nowhere costs one page.
#define FT_PAGE_ITEMS 256U
struct ft_pages {
    void **pages;
    size_t page_cap;
    size_t item_bytes;
    uint32_t max;   // largest id that was made
    uint32_t limit; // ids above are refused
};
// Whether such an id may be made; whether all of [first, first + count) may.
static inline bool ft_pages_may_make(const struct ft_pages *pages, uint32_t first, size_t count)
{
    return count == 0 || (first > 0 && first <= pages->limit && count - 1 <= pages->limit - first);
}
// The item of an id that may be made, zeroed when it is new; NULL where memory ends.
void *ft_pages_make(struct ft_pages *pages, struct ft_arena *arena, uint32_t id);
// The item, NULL where its page was never made; an item of it may still be zeros.
void *ft_pages_get(const struct ft_pages *pages, uint32_t id);

// A process record, replaced as a whole by a later one of the same id.
struct ft_reader_process {
    struct ft_arena arena;
    struct ft_trace_process record;
};

struct ft_reader_context {
    const struct ft_tag *tags;
    size_t count;
    bool is_known;
};

struct ft_reader_thread {
    struct ft_trace_thread record;
    bool is_known;
};

// A file's record in few bytes, since there may be millions.
struct ft_reader_file {
    uint32_t path;  // NAME id
    uint32_t place; // id of its struct ft_reader_place
    uint64_t inode;
    uint64_t birth : 56, kind : 4, source : 1, is_cut : 1, is_exact : 1, is_known : 1;
};
_Static_assert(FT_FILE_BIRTH_MAX < UINT64_C(1) << 56 && FT_FILE_KIND_COUNT <= 1 << 4 && FT_PATH_SOURCE_COUNT <= 2,
               "they fit");
_Static_assert(sizeof(struct ft_reader_file) == 24, "no room between them");

struct ft_reader_place {
    uint64_t dev;
    uint32_t mount, fstype, block_size;
};

// A TABLES frame whose names and files have not been read yet (trace_deferred.c).
struct ft_reader_deferred {
    uint64_t offset;
    uint32_t first_name, first_file; // ids from these on, as far as the next frame's
    bool is_waiting;
};

// A list in the reader's arena.
#define FT_LIST(type)      \
    struct {               \
        type *items;       \
        size_t count, cap; \
    }

struct ft_trace_reader {
    struct ft_source source;
    struct ft_trace_reader_options options;
    struct ft_arena arena; // all that lives as long as the reader, but processes
    size_t process_bytes;
    struct ft_trace_header header;
    bool has_header;
    bool has_clock; // realtime_offset_ns is known
    bool is_closed;
    char *text_room; // for names, which need no alignment and are many
    size_t text_left;
    struct ft_pages names;                          // struct ft_bytes; data NULL where there is none
    struct ft_pages files;                          // struct ft_reader_file
    struct ft_pages places;                         // struct ft_reader_place
    struct ft_pages processes;                      // struct ft_reader_process *
    struct ft_pages threads;                        // struct ft_reader_thread
    struct ft_pages contexts;                       // struct ft_reader_context
    struct ft_trace_call *calls[FT_TRACE_CALL_MAX]; // NULL where there is no record
    FT_LIST(struct ft_trace_gap) gaps;
    FT_LIST(struct ft_trace_loss) losses;
    FT_LIST(struct ft_trace_clock) clocks;
    FT_LIST(struct ft_trace_block) blocks;
    FT_LIST(struct ft_trace_block) profiles;
    FT_LIST(struct ft_trace_taken_over) taken_over;
    FT_LIST(struct ft_reader_deferred) deferred; // with options.defer_names
    // With options.keep_resume.
    FT_LIST(struct ft_trace_resume) resumes;
    FT_LIST(struct ft_trace_known) known;
    FT_LIST(struct ft_trace_tagged) tagged;
    FT_LIST(struct ft_trace_expected) expected;
    uint64_t offset;   // of the frame that is being loaded
    bool is_explained; // what is torn is in another file
    uint64_t events, profiled;
    struct ft_trace_problem *problems; // not in the arena: its end is a problem too
    size_t problem_count, problem_cap;
    bool is_partial;
    bool is_limited; // one of them is the memory limit
    struct ft_trace_frames frames[FT_TRACE_FRAME_KINDS];
    uint64_t frame_count;
};

// Bytes of memory that it holds.
size_t ft_reader_memory(const struct ft_trace_reader *reader);

// Notes a problem: a full list adds to the last one of its kind.
void ft_reader_note(struct ft_trace_reader *reader, unsigned kind, uint64_t offset, uint64_t length);

// Reads all frames (trace_scan.c). 0, -EPROTONOSUPPORT, or -errno of reading.
int ft_reader_scan(struct ft_trace_reader *reader, struct ft_window *window);

// Takes in one frame's head, whose crc holds (trace_load.c); -ENOMEM where there is none, which the bounds are not. `scratch` is for
// the message. 0, -EPROTONOSUPPORT; all else is a problem that it notes.
int ft_reader_load(struct ft_trace_reader *reader, struct ft_arena *scratch, const struct ft_frame *frame,
                   uint64_t offset, const uint8_t *head);

// The records of a TABLES message (trace_load_tables.c). 0, -EBADMSG where some
// of them make no sense, -ENOMEM at the memory limit; the others are taken in.
int ft_reader_load_tables(struct ft_trace_reader *reader, const Flowtap__Tables *tables);

// Its names and files alone.
int ft_reader_load_names(struct ft_trace_reader *reader, const Flowtap__Tables *tables);
// Inflates a head into the scratch arena: at most FT_FRAME_HEAD_MAX bytes. 0, -EBADMSG, -ENOMEM.
int ft_reader_inflate_head(struct ft_arena *scratch, const uint8_t *head, size_t len, const uint8_t **out,
                           size_t *out_len);
// Gives names with these ids to options.rename.
void ft_reader_rename(struct ft_trace_reader *reader, uint32_t first_id, size_t count);

// Takes in a TABLES frame but for its names and files. False where it does not say where they begin: then nothing of it
// was taken in.
bool ft_reader_defer(struct ft_trace_reader *reader, struct ft_arena *scratch, const struct ft_frame *frame,
                     uint64_t offset, const uint8_t *head);
// Reads them where they wait, before this id, or any, is looked up.
void ft_reader_need_name(const struct ft_trace_reader *reader, uint32_t id);
void ft_reader_need_file(const struct ft_trace_reader *reader, uint32_t id);
void ft_reader_need_all(const struct ft_trace_reader *reader);
// All of them, for good: from now on a look-up changes nothing. 0 or -ENOMEM.
int ft_reader_read_rest(struct ft_trace_reader *reader);

// A new last item of one of the reader's lists, zeroed; NULL at the memory limit.
#define FT_LIST_ADD(reader, list)                                                                      \
    (ft_arena_grow(&(reader)->arena, &(reader)->list.items, &(reader)->list.cap, (reader)->list.count, \
                   sizeof(*(reader)->list.items))                                                      \
         ? NULL                                                                                        \
         : memset(&(reader)->list.items[(reader)->list.count++], 0, sizeof(*(reader)->list.items)))

// What trace_resume.h reads of a TABLES message and of a block's head (trace_resume_get.c). 0, -EBADMSG, -ENOMEM.
int ft_reader_load_resume(struct ft_trace_reader *reader, const Flowtap__Tables *tables);
int ft_reader_load_tagged(struct ft_trace_reader *reader, Flowtap__Tagged *const *tagged, size_t count);

// Messages as records, in an arena (trace_record_from.c). 0, -EBADMSG, -ENOMEM.
int ft_record_bytes(struct ft_arena *arena, ProtobufCBinaryData from, struct ft_bytes *out);
int ft_record_tags(struct ft_arena *arena, Flowtap__Tag *const *from, size_t count, const struct ft_tag **out);
void ft_record_kernel(const Flowtap__Kernel *from, struct ft_trace_kernel *out);
int ft_record_dropped(struct ft_arena *arena, Flowtap__Dropped *const *from, size_t count,
                      const struct ft_trace_dropped **out);
// Adds counts by cause to `out`; causes of a newer format to the one that names no reason of its own.
void ft_record_causes(const uint64_t *from, size_t count, uint64_t out[FT_CAUSE_COUNT]);
int ft_record_header(struct ft_arena *arena, const Flowtap__Header *from, struct ft_trace_header *out);
// Fills an empty arena with just the memory that the record takes.
int ft_record_process(struct ft_arena *arena, const Flowtap__Process *from, struct ft_trace_process *out);

// The message of a block's head, checked as far as it can be without its data.
// NULL where it makes no sense. It lives in the scratch arena.
Flowtap__Block *ft_reader_unpack_block(struct ft_arena *scratch, const uint8_t *head, const struct ft_frame *frame);

#endif
