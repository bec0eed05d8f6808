// SPDX-License-Identifier: MIT
//
// The records of a file that wait for their TABLES frame. Internal to the writer.
#ifndef FT_PROTO_TRACE_TABLES_H
#define FT_PROTO_TRACE_TABLES_H

#include "proto/arena.h"
#include "proto/intern.h"
#include "proto/squeeze.h"
#include "proto/trace.pb-c.h"
#include "proto/trace_record.h"

// Keys that files and places are interned by: without padding.
struct ft_tables_file {
    uint64_t inode, birth;
    uint32_t path;
    uint32_t place;
    uint32_t bits; // as field kind of the message Files
    uint32_t zero;
};
struct ft_tables_place {
    uint64_t dev;
    uint32_t mount;
    uint32_t fstype;
    uint32_t block_size;
    uint32_t zero;
};
_Static_assert(sizeof(struct ft_tables_file) == 32, "padding");
_Static_assert(sizeof(struct ft_tables_place) == 24, "padding");

// Field kind of the message Files: kind, source, cut, and whether it has an inode.
#define FT_FILE_KIND_MASK 0xfU
#define FT_FILE_SOURCE_AT 4
#define FT_FILE_CUT_AT 5
#define FT_FILE_INODE_AT 6

// A record's message in `pending`; records of other kinds than processes have
// process 0.
struct ft_tables_segment {
    size_t offset, len;
    uint32_t process;
};

struct ft_tables {
    struct ft_intern names, files, places, contexts;
    uint8_t *file_classes; // enum ft_file_class by file id
    size_t file_classes_cap;
    uint32_t process_count, thread_count;
    // Of these, so many are in frames already.
    size_t names_out, files_out, places_out;
    // Everything else waits as packed messages, each a Tables of its own:
    // protobuf messages that follow each other are one.
    struct ft_buffer pending;
    size_t pending_dead; // bytes of records that were replaced
    struct ft_tables_segment *segments;
    size_t segment_count, segment_cap;
    uint32_t *segment_of_process; // segment number + 1 by process id, 0 none
    size_t segment_of_process_cap;
    struct ft_buffer frame; // the message of the frame being built
    struct ft_squeezer squeezer;
    struct ft_arena arena;
};

int ft_tables_init(struct ft_tables *tables);
void ft_tables_fini(struct ft_tables *tables);
void ft_tables_trim(struct ft_tables *tables); // gives scratch memory back
size_t ft_tables_memory(const struct ft_tables *tables);

// As the functions of trace_writer.h.
int64_t ft_tables_name(struct ft_tables *tables, struct ft_bytes bytes);
int64_t ft_tables_file(struct ft_tables *tables, const struct ft_trace_file *file);
int64_t ft_tables_context(struct ft_tables *tables, const struct ft_tag *tags, size_t count);
int ft_tables_put_process(struct ft_tables *tables, uint32_t id, const struct ft_trace_process *process);
int ft_tables_put_thread(struct ft_tables *tables, uint32_t id, const struct ft_trace_thread *thread);
int ft_tables_put_gap(struct ft_tables *tables, const struct ft_trace_gap *gap);
int ft_tables_put_loss(struct ft_tables *tables, const struct ft_trace_loss *loss);
int ft_tables_put_clock(struct ft_tables *tables, const struct ft_trace_clock *clock);
int ft_tables_put_call(struct ft_tables *tables, unsigned call, const struct ft_trace_call *text);

// Adds a message that holds one record to those that wait. Takes the place of
// the waiting record of that process (0: of none).
int ft_tables_wait(struct ft_tables *tables, const Flowtap__Tables *message, uint32_t process);

// Appends frames with all that waits to `out` (nothing where nothing waits) and
// counts them in *frames. 0 or -ENOMEM, then `out` is as before and all waits on.
int ft_tables_flush(struct ft_tables *tables, struct ft_buffer *out, uint64_t *frames);

#endif
