// SPDX-License-Identifier: MIT
//
// Rows of events as a BLOCK frame: grouped by thread, in columns. Internal to
// the writer; ft_trace_decoder (trace_reader.h) is the way back.
#ifndef FT_PROTO_TRACE_BLOCK_H
#define FT_PROTO_TRACE_BLOCK_H

#include "proto/buffer.h"
#include "proto/column.h"
#include "proto/trace_record.h"

#define FT_BLOCK_RANGES_MAX 262144U

// Fewer rows than this, or than this many for each key: no aggregates in the
// head, which would be larger than the rows.
#define FT_BLOCK_AGGREGATE_ROWS_MIN 64U
#define FT_BLOCK_AGGREGATE_ROWS_PER_KEY 8U

struct ft_block_input {
    const struct ft_event *rows; // 1 to FT_TRACE_BLOCK_ROWS_MAX, checked by ft_trace_writer_add()
    size_t row_count;
    uint32_t thread_max;         // largest thread id of the file
    const uint8_t *file_classes; // enum ft_file_class by file id, up to file_max
    uint32_t file_max;
    const struct ft_trace_range *ranges;
    size_t range_count;
};

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

// Appends one frame to `out`. 0, -ENOMEM, or -EINVAL (ranges that are empty or
// turned round, or too many). On error `out` is as before.
int ft_block_encode(struct ft_block_encoder *encoder, const struct ft_block_input *input, struct ft_buffer *out,
                    struct ft_block_span *span);

// The parts of it.

// Rows of one thread: order[first .. first + count) of an ordering.
struct ft_block_run {
    uint32_t thread;
    uint32_t first;
    uint32_t count;
};

struct ft_block_order {
    uint32_t *rows; // row numbers, run after run, by start within one
    uint32_t *spare;
    size_t cap;
    struct ft_block_run *runs;
    size_t run_count, run_cap;
    uint32_t *run_of_thread; // run number + 1 by thread id, zero between uses
    size_t thread_cap;
};
int ft_block_order_build(struct ft_block_order *order, const struct ft_block_input *input);
void ft_block_order_fini(struct ft_block_order *order);

// The numbers of each column of a block.
struct ft_block_columns {
    uint64_t *numbers[FT_COLUMN_END]; // NULL where always 0
    size_t count[FT_COLUMN_END];
    uint64_t *memory;
    size_t cap; // rows that each array has room for
};
int ft_block_columns_build(struct ft_block_columns *columns, const struct ft_block_input *input,
                           const struct ft_block_order *order);
void ft_block_columns_fini(struct ft_block_columns *columns);

// Sorts and joins ranges in place; returns how many entries are left, each of
// them for fillings fill .. fill + more.
struct ft_block_range {
    struct ft_trace_range range;
    uint64_t more;
};
size_t ft_block_ranges_join(struct ft_block_range *ranges, size_t count);

#endif
