// SPDX-License-Identifier: MIT
#include "proto/trace_decode.h"

#include <errno.h>

// What is decoded beside bytes and errors, which always are, where somebody needs it.
enum { WITH_OFFSET = 1, WITH_REST = 2, WITH_ALL = 3 };

enum { TOLD_PART = 32768 };

static const struct {
    enum ft_column column;
    unsigned at;     // of its field in a shape
    unsigned mask;   // of the field's bits
    unsigned told;   // value that means a number in the column
    unsigned fields; // without which it is not decoded
} shaped[] = {
    {FT_COLUMN_SIZE, FT_SHAPE_SIZE_AT, 3, FT_SHAPE_TOLD, 0},
    {FT_COLUMN_OFFSET, FT_SHAPE_OFFSET_AT, 3, FT_SHAPE_TOLD, WITH_OFFSET},
    {FT_COLUMN_RESULT, FT_SHAPE_RESULT_AT, 7, FT_SHAPE_RESULT_TOLD, 0},
    {FT_COLUMN_BYTES, FT_SHAPE_BYTES_AT, 3, FT_SHAPE_TOLD, 0},
    {FT_COLUMN_ARG, FT_SHAPE_ARG_AT, 3, FT_SHAPE_TOLD, WITH_REST},
    {FT_COLUMN_ERR, FT_SHAPE_ERR_AT, 3, FT_SHAPE_TOLD, 0},
    {FT_COLUMN_FILE2, FT_SHAPE_FILE2_AT, 1, 1, 0},
    {FT_COLUMN_FD, FT_SHAPE_FD_AT, 3, FT_SHAPE_FD_TOLD, WITH_REST},
};
#define SHAPED_COUNT (sizeof(shaped) / sizeof(shaped[0]))
#define FILE2_SHAPED 6

// Rows whose field says "told". Counted in parts that 16 bits hold, so that eight rows are one instruction.
static size_t count_told(const uint16_t *shapes, size_t rows, uint16_t mask, uint16_t told)
{
    size_t count = 0;

    for (size_t begin = 0; begin < rows; begin += TOLD_PART) {
        size_t end = rows - begin < TOLD_PART ? rows : begin + TOLD_PART;
        uint16_t part = 0;

        for (size_t i = begin; i < end; i++)
            part = (uint16_t)(part + ((shapes[i] & mask) == told));
        count += part;
    }
    return count;
}

// A column of told values, as many as the shapes say.
static struct ft_column_job told_job(const struct ft_decode *decode, size_t k)
{
    enum ft_column column = shaped[k].column;
    uint16_t mask = (uint16_t)(shaped[k].mask << shaped[k].at), told = (uint16_t)(shaped[k].told << shaped[k].at);

    return ft_decode_job(decode, column, count_told(decode->decoder->shapes, decode->rows, mask, told),
                         decode->decoder->told[column]);
}

// Without the column all of its values are 0.
static int decode_told(const struct ft_decode *decode, unsigned fields, struct ft_told *told)
{
    const uint64_t **out[SHAPED_COUNT] = {&told->size, &told->offset, &told->result, &told->bytes,
                                          &told->arg,  &told->err,    &told->file2,  &told->fd};
    struct ft_column_job jobs[FT_COLUMN_JOBS];
    size_t count = 0;
    int rc = 0;

    for (size_t k = 0; rc == 0 && k < SHAPED_COUNT; k++) {
        enum ft_column column = shaped[k].column;

        if (shaped[k].fields & ~fields)
            continue;
        *out[k] = decode->stored[column] ? decode->decoder->told[column] : decode->decoder->zeros;
        if (decode->stored[column])
            jobs[count++] = told_job(decode, k);
        if (count == FT_COLUMN_JOBS) {
            rc = ft_column_decode(decode->decoder->columns, jobs, count);
            count = 0;
        }
    }
    return rc ? rc : ft_column_decode(decode->decoder->columns, jobs, count);
}

// By told values that are there.
static void put_file2(const struct ft_decode *decode, struct ft_rows *out)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    const uint64_t *told = decoder->told[FT_COLUMN_FILE2];

    out->file2 = decoder->zeros;
    if (!decode->stored[FT_COLUMN_FILE2])
        return;
    for (size_t i = 0; i < decode->rows; i++) {
        bool is_told = decoder->shapes[i] >> FT_SHAPE_FILE2_AT & 1;

        decoder->file2[i] = is_told ? (uint32_t)(decoder->file[i] + *told++) : 0;
    }
    out->file2 = decoder->file2;
}

int ft_decode_file2(const struct ft_decode *decode, struct ft_rows *out)
{
    struct ft_column_job job;
    int rc = 0;

    if (decode->stored[FT_COLUMN_FILE2]) {
        job = told_job(decode, FILE2_SHAPED);
        rc = ft_column_decode(decode->decoder->columns, &job, 1);
    }
    if (rc == 0)
        put_file2(decode, out);
    return rc;
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

// One row; all its dense columns are there.
static inline void decode_row(struct ft_trace_decoder *decoder, size_t i, unsigned call_id, struct ft_told *told,
                              bool has_file2)
{
    struct ft_shape_state *state = &decoder->shape;
    struct ft_shape_call *call = &state->calls[call_id];
    struct ft_shape_slot *slot = &state->slots[decoder->file[i] % FT_SHAPE_SLOTS];
    unsigned shape = decoder->shapes[i], has = decoder->has_of[shape & (FT_SHAPE_HAS_COUNT - 1)];
    unsigned bytes_code = ft_shape_field(shape, FT_SHAPE_BYTES_AT, 3);
    uint64_t size = ft_shape_by_call(ft_shape_field(shape, FT_SHAPE_SIZE_AT, 3), call->size, call->size, &told->size);
    uint64_t offset = ft_shape_offset(ft_shape_field(shape, FT_SHAPE_OFFSET_AT, 3), slot, &told->offset);
    int32_t fd = fd_of(ft_shape_field(shape, FT_SHAPE_FD_AT, 3), state, &told->fd);
    uint64_t result, bytes = 0;

    ft_shape_set_fd(state, fd);
    result =
        ft_shape_result(ft_shape_field(shape, FT_SHAPE_RESULT_AT, 7), call->result, size, offset, fd, &told->result);
    if (bytes_code == FT_SHAPE_BYTES_RESULT)
        bytes = result;
    else if (bytes_code == FT_SHAPE_TOLD)
        bytes = *told->bytes++;
    decoder->has[i] = (uint8_t)has;
    decoder->size[i] = (int64_t)size;
    decoder->offset[i] = (int64_t)offset;
    decoder->result[i] = (int64_t)result;
    decoder->bytes[i] = bytes;
    decoder->arg[i] = ft_shape_by_call(ft_shape_field(shape, FT_SHAPE_ARG_AT, 3), call->arg, 0, &told->arg);
    decoder->err[i] =
        (int32_t)ft_shape_by_call(ft_shape_field(shape, FT_SHAPE_ERR_AT, 3), (uint64_t)call->err, 0, &told->err);
    decoder->fd[i] = fd;
    decoder->file2[i] =
        has_file2 && ft_shape_field(shape, FT_SHAPE_FILE2_AT, 1) ? (uint32_t)(decoder->file[i] + *told->file2++) : 0;
    if (has & FT_HAS_SIZE)
        call->size = size;
    if (has & FT_HAS_RESULT)
        call->result = result;
    if (has & FT_HAS_ARG)
        call->arg = decoder->arg[i];
    if (has & FT_HAS_ERR)
        call->err = decoder->err[i];
    if (has & FT_HAS_OFFSET)
        ft_shape_set_offset(slot, has, offset, bytes, size);
}

static void decode_all_rows(const struct ft_decode *decode, struct ft_told *told)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    bool has_file2 = decode->stored[FT_COLUMN_FILE2] != NULL;

    memset(&decoder->shape, 0, sizeof(decoder->shape));
    for (size_t run = 0, i = 0; run < decode->block->n_run_rows; run++) {
        ft_shape_begin_run(&decoder->shape);
        for (size_t last = i + decode->block->run_rows[run]; i < last; i++)
            decode_row(decoder, i, decode->call[i], told, has_file2);
    }
}

// Where results come from, anywhere in a block, and whether some bytes are the result of a row before.
struct results {
    bool are_offsets, are_fds, are_kept;
};

static struct results results_of(const struct ft_decode *decode)
{
    const uint16_t *shapes = decode->decoder->shapes;
    uint16_t offsets = 0, fds = 0, kept = 0; // as wide as shapes, for vector instructions

    for (size_t i = 0; i < decode->rows; i++) {
        unsigned result = shapes[i] & 7U << FT_SHAPE_RESULT_AT, bytes = shapes[i] & 3U << FT_SHAPE_BYTES_AT;

        offsets |= result == FT_SHAPE_RESULT_OFFSET << FT_SHAPE_RESULT_AT;
        fds |= result == FT_SHAPE_RESULT_FD << FT_SHAPE_RESULT_AT;
        kept |= (result | bytes) ==
                (FT_SHAPE_RESULT_AS_LAST << FT_SHAPE_RESULT_AT | FT_SHAPE_BYTES_RESULT << FT_SHAPE_BYTES_AT);
    }
    return (struct results){.are_offsets = offsets, .are_fds = fds, .are_kept = kept};
}

// Whether some row's bytes may come from an offset or an fd: where they are its result, and a result of its call is told
// by one.
static unsigned fields_of_results(const struct ft_decode *decode)
{
    enum { FROM_OFFSET = 1, FROM_FD = 2, TO_BYTES = 4, CODES = 32 };
    uint8_t uses[FT_TRACE_CALL_MAX] = {0}, uses_of[CODES]; // by the bits of result and bytes, which stand together
    const uint16_t *shapes = decode->decoder->shapes;
    unsigned fields = 0;

    _Static_assert(FT_SHAPE_BYTES_AT == FT_SHAPE_RESULT_AT + 3, "together");
    for (unsigned code = 0; code < CODES; code++) {
        unsigned result = code & 7, bytes = code >> 3;

        uses_of[code] =
            (uint8_t)((result == FT_SHAPE_RESULT_OFFSET ? FROM_OFFSET : 0) |
                      (result == FT_SHAPE_RESULT_FD ? FROM_FD : 0) | (bytes == FT_SHAPE_BYTES_RESULT ? TO_BYTES : 0));
    }
    for (size_t i = 0; i < decode->rows; i++)
        uses[decode->call[i]] |= uses_of[shapes[i] >> FT_SHAPE_RESULT_AT & (CODES - 1)];
    for (size_t id = 0; id < FT_TRACE_CALL_MAX; id++) {
        fields |= (uses[id] & (TO_BYTES | FROM_OFFSET)) == (TO_BYTES | FROM_OFFSET) ? WITH_OFFSET : 0;
        fields |= (uses[id] & (TO_BYTES | FROM_FD)) == (TO_BYTES | FROM_FD) ? WITH_REST : 0;
    }
    return fields;
}

// What is needed for the columns that are asked for.
static unsigned fields_of_mask(const struct ft_decode *decode, uint32_t mask, const struct results *results)
{
    unsigned fields = mask & FT_COL_OFFSET ? WITH_OFFSET : 0;

    if (mask & (FT_COL_FD | FT_COL_ARG | FT_COL_SIZE | FT_COL_RESULT))
        return WITH_ALL;
    if (results->are_fds || (results->are_offsets && !fields))
        fields |= fields_of_results(decode);
    return fields & WITH_REST ? WITH_ALL : fields;
}

int ft_decode_shaped(const struct ft_decode *decode, uint32_t mask, struct ft_rows *out)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    struct results results = results_of(decode);
    unsigned fields = fields_of_mask(decode, mask, &results);
    struct ft_told told;
    int rc = decode_told(decode, fields, &told);

    if (rc)
        return rc;
    if (fields != WITH_ALL) {
        ft_decode_short(decode, &told, results.are_kept, fields, out);
        put_file2(decode, out);
        return 0;
    }
    decode_all_rows(decode, &told);
    out->has = decoder->has;
    out->size = decoder->size;
    out->offset = decoder->offset;
    out->result = decoder->result;
    out->bytes = decoder->bytes;
    out->arg = decoder->arg;
    out->err = decoder->err;
    out->file2 = decoder->file2;
    out->fd = decoder->fd;
    return 0;
}
