// SPDX-License-Identifier: MIT
//
// Rows of events as a BLOCK frame: grouped by thread, in columns. Internal to
// the writer; ft_trace_decoder (trace_reader.h) is the way back.
#ifndef FT_PROTO_TRACE_BLOCK_H
#define FT_PROTO_TRACE_BLOCK_H

#include "proto/arena.h"
#include "proto/buffer.h"
#include "proto/column.h"
#include "proto/trace.pb-c.h"
#include "proto/trace_profile.h"
#include "proto/trace_record.h"

#define FT_BLOCK_RANGES_MAX 262144U
// Arguments of all its rows.
#define FT_BLOCK_ARGS_MAX FT_COLUMN_ROWS_MAX

// Fewer rows than this, or than this many for each key: no aggregates in the
// head, which would be larger than the rows.
#define FT_BLOCK_AGGREGATE_ROWS_MIN 64U
#define FT_BLOCK_AGGREGATE_ROWS_PER_KEY 8U

// Rows of one thread: order[first .. first + count) of an ordering.
struct ft_block_run {
    uint32_t thread;
    uint32_t first;
    uint32_t count;
    bool is_sorted;
    int64_t last_start_ns;
};

// Which rows belong to which thread. Filled while rows are added, so that rows
// are looked at while they are in the cache.
struct ft_block_order {
    uint32_t *run_of_row;
    size_t row_count, row_cap;
    struct ft_block_run *runs;
    size_t run_count, run_cap;
    uint32_t *run_of_thread; // run number + 1 by thread id, zero between blocks
    size_t thread_cap;
    // After _finish: row numbers, run after run, by start within one.
    uint32_t *rows, *spare;
    size_t cap;
};
// Whether there is room for the next row; if not, makes it. 0 or -ENOMEM.
static inline bool ft_block_order_has_room(const struct ft_block_order *order, uint32_t thread)
{
    return thread < order->thread_cap && order->row_count < order->row_cap && order->run_count < order->run_cap;
}
int ft_block_order_reserve(struct ft_block_order *order, uint32_t thread);

// A thread's first row of the block.
uint32_t ft_block_order_add_run(struct ft_block_order *order, uint32_t thread, int64_t start_ns);
// Adds the next row, for which there is room.
static inline void ft_block_order_add(struct ft_block_order *order, uint32_t thread, int64_t start_ns)
{
    uint32_t number = order->run_of_thread[thread];
    struct ft_block_run *run;

    if (number == 0)
        number = ft_block_order_add_run(order, thread, start_ns);
    run = &order->runs[number - 1];
    run->count++;
    run->is_sorted &= start_ns >= run->last_start_ns;
    run->last_start_ns = start_ns;
    order->run_of_row[order->row_count++] = number - 1;
}
int ft_block_order_finish(struct ft_block_order *order, const struct ft_event *rows);
void ft_block_order_reset(struct ft_block_order *order);
void ft_block_order_fini(struct ft_block_order *order);

// Where the block lies in time, for the index.
struct ft_block_span {
    int64_t start_ns;
    uint64_t span_ns;
};

struct ft_block_encoder;

struct ft_block_encoder *ft_block_encoder_create(int zlib_level);
void ft_block_encoder_destroy(struct ft_block_encoder *encoder);
// Gives scratch memory back.
void ft_block_encoder_trim(struct ft_block_encoder *encoder);
size_t ft_block_encoder_memory(const struct ft_block_encoder *encoder);

// Adds a row, whose numbers ft_trace_writer_add() has checked and whose files
// are of these classes (enum ft_file_class). At most FT_TRACE_BLOCK_ROWS_MAX. 0 or -ENOMEM.
int ft_block_add(struct ft_block_encoder *encoder, const struct ft_event *row, uint8_t file_class, uint8_t file2_class);
// Arguments of the rows, those of rows that are added next with them (trace_block_args.c).
struct ft_block_args {
    struct ft_event_arg *items;
    size_t count, cap;
};
struct ft_block_args *ft_block_args_of(struct ft_block_encoder *encoder);
// Gives the number of the first. -ENOMEM, or -EOVERFLOW where they are too many.
int64_t ft_block_args_add(struct ft_block_args *args, const struct ft_event_arg *more, size_t count);
void ft_block_args_fini(struct ft_block_args *args);
size_t ft_block_rows(const struct ft_block_encoder *encoder);
void ft_block_reset(struct ft_block_encoder *encoder);

// Appends the rows as one frame to `out` and forgets them. `rest`: packed fields that belong into the head too. 0,
// -ENOMEM, or -EINVAL (ranges that are empty or turned round, or too many). On error `out` and the rows are as before.
int ft_block_encode(struct ft_block_encoder *encoder, const struct ft_trace_range *ranges, size_t range_count,
                    const struct ft_buffer *rest, struct ft_buffer *out, struct ft_block_span *span);

// The same of sums of events, as a PROFILE frame; forgets them in the profile. The encoder has no rows.
int ft_block_encode_profile(struct ft_block_encoder *encoder, struct ft_profile *profile,
                            const struct ft_trace_range *ranges, size_t range_count, const struct ft_buffer *rest,
                            struct ft_buffer *out);

// The parts of it.

// The numbers of each column of a block.
struct ft_block_columns {
    uint64_t *numbers[FT_COLUMN_END]; // NULL where always 0
    size_t count[FT_COLUMN_END];
    uint64_t *spare; // as long as the others
    uint64_t *memory;
    size_t cap; // rows that each array has room for
    uint64_t *arg_memory;
    size_t arg_cap;
};
int ft_block_columns_build(struct ft_block_columns *columns, const struct ft_event *rows,
                           const struct ft_block_order *order, const struct ft_block_args *args);
// The columns of arguments, where there are any (trace_block_args.c); after the others.
int ft_block_columns_add_args(struct ft_block_columns *columns, const struct ft_event *rows,
                              const struct ft_block_order *order, const struct ft_block_args *args);
// Puts the columns that may be by call in that order; false where it is not worth it.
bool ft_block_columns_by_call(struct ft_block_columns *columns);
void ft_block_columns_fini(struct ft_block_columns *columns);

// Sorts and joins ranges in place; returns how many entries are left, each of
// them for fillings fill ... fill + more_fills of chunks chunk ... chunk +
// more_chunks. Those of one segment stand together.
struct ft_block_range {
    struct ft_trace_range range;
    uint64_t more_fills;
    uint32_t more_chunks;
};
size_t ft_block_ranges_join(struct ft_block_range *ranges, size_t count);

// Room for them, kept from block to block.
struct ft_block_ranges {
    struct ft_block_range *items;
    size_t cap;
};
void ft_block_ranges_fini(struct ft_block_ranges *room);
// Puts ranges into a block's message, whose memory is the arena's.
int ft_block_ranges_put(struct ft_block_ranges *room, struct ft_arena *arena, const struct ft_trace_range *ranges,
                        size_t count, Flowtap__Block *block);

#endif
