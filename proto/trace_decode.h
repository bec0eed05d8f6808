// SPDX-License-Identifier: MIT
//
// A block's columns back to rows. Internal to the reader.
#ifndef FT_PROTO_TRACE_DECODE_H
#define FT_PROTO_TRACE_DECODE_H

#include "proto/column.h"
#include "proto/trace_aggregate.h"
#include "proto/trace_reader_impl.h"
#include "proto/trace_shape.h"

struct ft_trace_decoder {
    struct ft_window window;
    struct ft_column_decoder *columns;
    struct ft_arena scratch; // the head's message
    struct ft_shape_state shape;
    uint8_t has_of[FT_SHAPE_HAS_COUNT]; // see ft_shape_has_of_all()
    struct ft_aggregator *aggregator;
    struct ft_buffer aggregates;
    struct ft_buffer ranges;
    struct ft_buffer problems;
    uint8_t *memory; // all arrays below, each for FT_TRACE_BLOCK_ROWS_MAX rows; untouched pages cost nothing
    uint64_t *numbers[FT_COLUMN_JOBS]; // columns as they are decoded
    uint64_t *grouped[FT_COLUMN_JOBS]; // those that are by call
    uint64_t *told[FT_COLUMN_END];     // values of SIZE ... FD
    struct ft_run *runs;
    uint16_t *shapes;
    uint16_t *ranks; // of each row among those of its call
#define FT_DECODER_ARRAY(type, name) type *name;
    FT_ROWS_COLUMNS(FT_DECODER_ARRAY)
#undef FT_DECODER_ARRAY
    struct ft_event_arg *args;
    const void *zeros; // of any column; never written
};

// A block as it is decoded.
struct ft_decode {
    struct ft_trace_decoder *decoder;
    const Flowtap__Block *block;
    size_t rows;
    const uint8_t *stored[FT_COLUMN_END];       // bytes of each column
    struct ft_column_head heads[FT_COLUMN_END]; // planes and value 0 where the column is absent
    const uint16_t *call;                       // of the rows, once decoded
    uint32_t first_of_call[FT_TRACE_CALL_MAX];  // where its numbers begin in a column that is by call
};

// `count` numbers of a column into `out` (trace_decode_columns.c).
struct ft_column_job ft_decode_job(const struct ft_decode *decode, enum ft_column kind, size_t count, uint64_t *out);
// The columns with a number for each row that `mask` asks for, and the decoder's shapes where it asks for what they
// tell: with FT_COL_CALL and FT_COL_FILE then.
int ft_decode_dense(struct ft_decode *decode, uint32_t mask, struct ft_rows *out);
// Arguments (trace_decode_args.c).
int ft_decode_args(const struct ft_decode *decode, struct ft_rows *out);
// FILE2 alone, which is cheap.
int ft_decode_file2(const struct ft_decode *decode, struct ft_rows *out);
// Where the next told value of each column is taken from; all values that the shapes speak of are there.
struct ft_told {
    const uint64_t *size, *offset, *result, *bytes, *arg, *err, *file2, *fd;
};
// HAS, BYTES, ERR and, where it is asked for, OFFSET, of which no result that is bytes comes from an fd, or from an offset
// that is not asked for (trace_decode_short.c). `keeps_results`: some bytes are the result of a row before.
void ft_decode_short(const struct ft_decode *decode, const struct ft_told *told, bool keeps_results, bool with_offset,
                     struct ft_rows *out);
// SIZE ... FD by the shapes (trace_decode_shape.c).
int ft_decode_shaped(const struct ft_decode *decode, uint32_t mask, struct ft_rows *out);

// Columns that are told by shapes.
#define FT_COL_SHAPED                                                                                                  \
    (FT_COL_FILE2 | FT_COL_FD | FT_COL_SIZE | FT_COL_OFFSET | FT_COL_RESULT | FT_COL_BYTES | FT_COL_ARG | FT_COL_ERR | \
     FT_COL_HAS)

// Reads block i of a reader: its head's message and its data, whose crcs hold.
int ft_decoder_load(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                    Flowtap__Block **message, const uint8_t **data);
// The same for the head alone.
int ft_decoder_load_head(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                         Flowtap__Block **message);
// Rows of a loaded block.
int ft_decoder_decode(struct ft_trace_decoder *decoder, const Flowtap__Block *message, const uint8_t *data,
                      uint32_t mask, struct ft_rows *out);
// Adds rows up, by the file classes of the reader's records. `are_sums`: they are those of a PROFILE frame.
int ft_decoder_add_up(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, bool are_sums,
                      const struct ft_rows *rows);
// What is known of block i, NULL where there is none.
const struct ft_trace_block *ft_decoder_find(const struct ft_trace_reader *reader, size_t block);

#endif
