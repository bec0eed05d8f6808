// SPDX-License-Identifier: MIT
//
// Bytes and errors of rows, and offsets where they are wanted, without what else their shapes tell: what reports of all
// events ask for. Most rows move no bytes, and then there is little to do.
#include "proto/trace_decode.h"

// Fields of a shape by which a row is in need of more than zeros here.
#define MOVES (3U << FT_SHAPE_SIZE_AT | 3U << FT_SHAPE_OFFSET_AT | 3U << FT_SHAPE_BYTES_AT)
#define RESULT (7U << FT_SHAPE_RESULT_AT)

// The arrays, in variables that no store can change.
struct way {
    const uint16_t *shapes, *call;
    const uint32_t *file;
    uint64_t *bytes;
    int64_t *offset;
    struct ft_shape_state *state;
    struct ft_told told;
    unsigned loud; // bits that make a shape so
};

// Whether a row has a size, an offset or bytes, a told result, or one that rows behind it may need.
static inline bool is_loud(const struct way *way, unsigned shape)
{
    _Static_assert(FT_SHAPE_RESULT_TOLD == 7 && FT_SHAPE_BYTES_AT == FT_SHAPE_RESULT_AT + 3,
                   "told: all bits, which carry");
    return (shape | ((shape & RESULT) + (1U << FT_SHAPE_RESULT_AT))) & way->loud;
}

static inline __attribute__((always_inline)) void put_row(struct way *way, size_t i, unsigned shape, bool with_offset)
{
    struct ft_shape_call *call = &way->state->calls[way->call[i]];
    struct ft_shape_slot *slot = &way->state->slots[with_offset ? way->file[i] % FT_SHAPE_SLOTS : 0];
    uint64_t size =
                 ft_shape_by_call(ft_shape_field(shape, FT_SHAPE_SIZE_AT, 3), call->size, call->size, &way->told.size),
             offset = 0, bytes = 0;
    unsigned bytes_code = ft_shape_field(shape, FT_SHAPE_BYTES_AT, 3);
    uint64_t result;

    if (with_offset)
        offset = ft_shape_offset(ft_shape_field(shape, FT_SHAPE_OFFSET_AT, 3), slot, &way->told.offset);
    // An fd is no result that matters here.
    result =
        ft_shape_result(ft_shape_field(shape, FT_SHAPE_RESULT_AT, 7), call->result, size, offset, 0, &way->told.result);
    if (bytes_code == FT_SHAPE_BYTES_RESULT)
        bytes = result;
    else if (bytes_code == FT_SHAPE_TOLD)
        bytes = *way->told.bytes++;
    way->bytes[i] = bytes;
    if (shape & 3U << FT_SHAPE_SIZE_AT)
        call->size = size;
    if (shape & RESULT)
        call->result = result;
    if (!with_offset)
        return;
    way->offset[i] = (int64_t)offset;
    if (shape & 3U << FT_SHAPE_OFFSET_AT)
        ft_shape_set_offset(slot, bytes_code ? FT_HAS_BYTES : FT_HAS_SIZE, offset, bytes, size);
}

// Whether the next row of the same call and shape has the same bytes: nothing told, and no result that is its own offset.
static inline bool is_same_again(unsigned shape)
{
    unsigned result = ft_shape_field(shape, FT_SHAPE_RESULT_AT, 7);

    return ft_shape_field(shape, FT_SHAPE_SIZE_AT, 3) != FT_SHAPE_TOLD && result != FT_SHAPE_RESULT_TOLD &&
           result != FT_SHAPE_RESULT_OFFSET && ft_shape_field(shape, FT_SHAPE_BYTES_AT, 3) != FT_SHAPE_TOLD;
}

// Rows from i on that are as the loud one before, offsets aside: loops are full of them. Returns the first that is not.
static inline __attribute__((always_inline)) size_t repeat_row(struct way *way, size_t i, size_t last, unsigned shape,
                                                               bool with_offset)
{
    unsigned call = way->call[i - 1], code = ft_shape_field(shape, FT_SHAPE_OFFSET_AT, 3);
    uint64_t bytes = way->bytes[i - 1], size = way->state->calls[call].size, moved;

    if (!is_same_again(shape))
        return i;
    moved = shape & 3U << FT_SHAPE_BYTES_AT ? bytes : shape & 3U << FT_SHAPE_SIZE_AT ? size : 0;
    for (; i < last && way->shapes[i] == shape && way->call[i] == call; i++) {
        way->bytes[i] = bytes;
        if (with_offset) {
            struct ft_shape_slot *slot = &way->state->slots[way->file[i] % FT_SHAPE_SLOTS];
            uint64_t offset = ft_shape_offset(code, slot, &way->told.offset);

            way->offset[i] = (int64_t)offset;
            if (code)
                ft_shape_set_offset(slot, FT_HAS_BYTES, offset, moved, 0);
        }
    }
    return i;
}

static inline __attribute__((always_inline)) void put_rows(const struct ft_decode *decode, const struct ft_told *told,
                                                           unsigned loud, bool with_offset)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    struct way way = {decoder->shapes, decode->call,    decoder->file, decoder->bytes,
                      decoder->offset, &decoder->shape, *told,         loud};
    size_t rows = decode->rows;

    for (size_t i = 0; i < rows;) {
        unsigned shape = way.shapes[i];

        if (is_loud(&way, shape)) {
            put_row(&way, i++, shape, with_offset);
            if (i < rows && way.shapes[i] == shape)
                i = repeat_row(&way, i, rows, shape, with_offset);
            continue;
        }
        way.bytes[i] = 0;
        if (with_offset)
            way.offset[i] = 0;
        i++;
    }
}

// Errors of rows; without any told they are all 0.
static void put_errors(const struct ft_decode *decode, const uint64_t *told)
{
    const uint16_t *shapes = decode->decoder->shapes, *call = decode->call;
    int32_t of_call[FT_TRACE_CALL_MAX] = {0}, *err = decode->decoder->err;

    for (size_t i = 0; i < decode->rows; i++) {
        unsigned code = ft_shape_field(shapes[i], FT_SHAPE_ERR_AT, 3);
        int32_t before = of_call[call[i]], number = code == FT_SHAPE_TOLD ? (int32_t)*told : before;

        told += code == FT_SHAPE_TOLD;
        number &= -(int32_t)(code & 1);
        err[i] = number;
        of_call[call[i]] = code ? number : before;
    }
}

static void put_has(const struct ft_decode *decode)
{
    const uint16_t *shapes = decode->decoder->shapes;
    const uint8_t *has_of = decode->decoder->has_of;
    uint8_t *has = decode->decoder->has;

    for (size_t i = 0; i < decode->rows; i++)
        has[i] = has_of[shapes[i] & (FT_SHAPE_HAS_COUNT - 1)];
}

void ft_decode_short(const struct ft_decode *decode, const struct ft_told *told, bool keeps_results, bool with_offset,
                     struct ft_rows *out)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    unsigned loud = keeps_results ? UINT32_MAX : MOVES;

    memset(&decoder->shape, 0, sizeof(decoder->shape));
    put_has(decode);
    out->has = decoder->has;
    out->bytes = decoder->bytes;
    out->err = decoder->zeros;
    if (decode->stored[FT_COLUMN_ERR]) {
        put_errors(decode, told->err);
        out->err = decoder->err;
    }
    if (with_offset) {
        put_rows(decode, told, loud, true);
        out->offset = decoder->offset;
    } else {
        put_rows(decode, told, loud & ~(3U << FT_SHAPE_OFFSET_AT), false);
    }
}
