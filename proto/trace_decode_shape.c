// SPDX-License-Identifier: MIT
#include "proto/trace_decode.h"

#include <errno.h>

static const struct {
    enum ft_column column;
    unsigned at;   // of its field in a shape
    unsigned mask; // of the field's bits
    unsigned told; // value that means a number in the column
} shaped[] = {
    {FT_COLUMN_SIZE, FT_SHAPE_SIZE_AT, 3, FT_SHAPE_TOLD},
    {FT_COLUMN_OFFSET, FT_SHAPE_OFFSET_AT, 3, FT_SHAPE_TOLD},
    {FT_COLUMN_RESULT, FT_SHAPE_RESULT_AT, 7, FT_SHAPE_RESULT_TOLD},
    {FT_COLUMN_BYTES, FT_SHAPE_BYTES_AT, 3, FT_SHAPE_TOLD},
    {FT_COLUMN_ARG, FT_SHAPE_ARG_AT, 3, FT_SHAPE_TOLD},
    {FT_COLUMN_ERR, FT_SHAPE_ERR_AT, 3, FT_SHAPE_TOLD},
    {FT_COLUMN_FILE2, FT_SHAPE_FILE2_AT, 1, 1},
    {FT_COLUMN_FD, FT_SHAPE_FD_AT, 3, FT_SHAPE_FD_TOLD},
};
#define SHAPED_COUNT (sizeof(shaped) / sizeof(shaped[0]))
#define FILE2_SHAPED 6

// Where the next told value of each column is taken from; all values that the
// shapes speak of are there.
struct told {
    const uint64_t *size, *offset, *result, *bytes, *arg, *err, *file2, *fd;
};

// Decodes a column of told values, as many as the shapes say.
static int decode_told_column(const struct ft_decode *decode, size_t k)
{
    const uint16_t *shapes = decode->decoder->shapes;
    unsigned mask = shaped[k].mask << shaped[k].at, told = shaped[k].told << shaped[k].at;
    size_t count = 0;

    for (size_t i = 0; i < decode->rows; i++)
        count += (shapes[i] & mask) == told;
    return ft_decode_numbers(decode, shaped[k].column, count, decode->decoder->told[shaped[k].column]);
}

static int decode_told(const struct ft_decode *decode)
{
    int rc = 0;

    for (size_t k = 0; rc == 0 && k < SHAPED_COUNT; k++)
        rc = decode_told_column(decode, k);
    return rc;
}

int ft_decode_file2(const struct ft_decode *decode, struct ft_rows *out)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    const uint64_t *told = decoder->told[FT_COLUMN_FILE2];
    int rc;

    if (!decode->stored[FT_COLUMN_FILE2]) {
        out->file2 = decoder->zeros;
        return 0;
    }
    rc = ft_decode_shapes(decode);
    if (rc == 0)
        rc = decode_told_column(decode, FILE2_SHAPED);
    if (rc)
        return rc;
    for (size_t i = 0; i < decode->rows; i++) {
        bool is_told = decoder->shapes[i] >> FT_SHAPE_FILE2_AT & 1;

        decoder->file2[i] = is_told ? (uint32_t)(decoder->file[i] + *told++) : 0;
    }
    out->file2 = decoder->file2;
    return 0;
}

static unsigned field(unsigned shape, unsigned at, unsigned mask)
{
    return shape >> at & mask;
}

// The two-bit fields that follow the row with the same call before.
static inline uint64_t by_call(unsigned code, uint64_t before, uint64_t difference_from, const uint64_t **told)
{
    switch (code) {
    case FT_SHAPE_AS_LAST:
        return before;
    case FT_SHAPE_TOLD:
        return difference_from + *(*told)++;
    default:
        return 0;
    }
}

static inline uint64_t offset_of(unsigned code, const struct ft_shape_slot *slot, const uint64_t **told)
{
    switch (code) {
    case FT_SHAPE_OFFSET_FOLLOWS:
        return slot->end;
    case FT_SHAPE_OFFSET_AS_LAST:
        return slot->offset;
    case FT_SHAPE_TOLD:
        return slot->end + *(*told)++;
    default:
        return 0;
    }
}

static inline uint64_t result_of(unsigned code, uint64_t before, uint64_t size, uint64_t offset, int32_t fd,
                                 const uint64_t **told)
{
    switch (code) {
    case FT_SHAPE_RESULT_SIZE:
        return size;
    case FT_SHAPE_RESULT_OFFSET:
        return offset;
    case FT_SHAPE_RESULT_AS_LAST:
        return before;
    case FT_SHAPE_RESULT_MINUS_ONE:
        return UINT64_MAX;
    case FT_SHAPE_RESULT_FD:
        return (uint64_t)fd;
    case FT_SHAPE_RESULT_TOLD:
        return *(*told)++;
    default:
        return 0;
    }
}

static inline int32_t fd_of(unsigned code, const struct ft_shape_state *state, const uint64_t **told)
{
    switch (code) {
    case FT_SHAPE_FD_AS_BEFORE:
        return state->fd;
    case FT_SHAPE_FD_AS_TWO_BEFORE:
        return state->fd_before;
    case FT_SHAPE_FD_TOLD:
        return (int32_t)((uint64_t)state->fd + *(*told)++);
    default:
        return -1;
    }
}

// One row; all its other columns are there.
static inline void decode_row(struct ft_trace_decoder *decoder, size_t i, unsigned call_id, struct told *told,
                              bool has_file2)
{
    struct ft_shape_state *state = &decoder->shape;
    struct ft_shape_call *call = &state->calls[call_id];
    struct ft_shape_slot *slot = &state->slots[decoder->file[i] % FT_SHAPE_SLOTS];
    unsigned shape = decoder->shapes[i], has = 0;
    unsigned size_code = field(shape, FT_SHAPE_SIZE_AT, 3), offset_code = field(shape, FT_SHAPE_OFFSET_AT, 3);
    unsigned result_code = field(shape, FT_SHAPE_RESULT_AT, 7), bytes_code = field(shape, FT_SHAPE_BYTES_AT, 3);
    unsigned arg_code = field(shape, FT_SHAPE_ARG_AT, 3), err_code = field(shape, FT_SHAPE_ERR_AT, 3);
    int32_t fd = fd_of(field(shape, FT_SHAPE_FD_AT, 3), state, &told->fd);
    uint64_t size = by_call(size_code, call->size, call->size, &told->size);
    uint64_t offset = offset_of(offset_code, slot, &told->offset);
    uint64_t result = result_of(result_code, call->result, size, offset, fd, &told->result), bytes = 0;

    if (bytes_code == FT_SHAPE_BYTES_RESULT)
        bytes = result;
    else if (bytes_code == FT_SHAPE_TOLD)
        bytes = *told->bytes++;
    ft_shape_set_fd(state, fd);
    decoder->fd[i] = fd;
    decoder->size[i] = (int64_t)size;
    decoder->offset[i] = (int64_t)offset;
    decoder->result[i] = (int64_t)result;
    decoder->bytes[i] = bytes;
    decoder->arg[i] = by_call(arg_code, call->arg, 0, &told->arg);
    decoder->err[i] = (int32_t)by_call(err_code, (uint64_t)call->err, 0, &told->err);
    decoder->file2[i] =
        has_file2 && field(shape, FT_SHAPE_FILE2_AT, 1) ? (uint32_t)(decoder->file[i] + *told->file2++) : 0;
    if (size_code) {
        has |= FT_HAS_SIZE;
        call->size = size;
    }
    if (bytes_code)
        has |= FT_HAS_BYTES;
    if (offset_code) {
        has |= FT_HAS_OFFSET;
        ft_shape_set_offset(slot, has, offset, bytes, size);
    }
    if (result_code) {
        has |= FT_HAS_RESULT;
        call->result = result;
    }
    if (arg_code) {
        has |= FT_HAS_ARG;
        call->arg = decoder->arg[i];
    }
    if (err_code) {
        has |= FT_HAS_ERR;
        call->err = decoder->err[i];
    }
    decoder->has[i] = (uint8_t)has;
}

int ft_decode_shaped(const struct ft_decode *decode, struct ft_rows *out)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    uint64_t *const *from = decoder->told;
    struct told told = {
        .size = from[FT_COLUMN_SIZE],
        .offset = from[FT_COLUMN_OFFSET],
        .result = from[FT_COLUMN_RESULT],
        .bytes = from[FT_COLUMN_BYTES],
        .arg = from[FT_COLUMN_ARG],
        .err = from[FT_COLUMN_ERR],
        .file2 = from[FT_COLUMN_FILE2],
        .fd = from[FT_COLUMN_FD],
    };
    bool has_file2 = decode->stored[FT_COLUMN_FILE2] != NULL;
    int rc = ft_decode_shapes(decode);

    if (rc == 0)
        rc = decode_told(decode);
    if (rc)
        return rc;
    memset(&decoder->shape, 0, sizeof(decoder->shape));
    for (size_t run = 0, i = 0; run < decode->block->n_run_rows; run++) {
        ft_shape_begin_run(&decoder->shape);
        for (size_t last = i + decode->block->run_rows[run]; i < last; i++)
            decode_row(decoder, i, out->call[i], &told, has_file2);
    }
    out->size = decoder->size;
    out->offset = decoder->offset;
    out->result = decoder->result;
    out->bytes = decoder->bytes;
    out->arg = decoder->arg;
    out->err = decoder->err;
    out->file2 = decoder->file2;
    out->fd = decoder->fd;
    out->has = decoder->has;
    return 0;
}
