// SPDX-License-Identifier: MIT
#include "proto/trace_decode.h"

#include <errno.h>

int ft_decode_numbers(const struct ft_decode *decode, enum ft_column kind, size_t count, uint64_t *out)
{
    return ft_column_decode(decode->decoder->columns, &decode->heads[kind], decode->stored[kind], count, out);
}

static bool is_absent(const struct ft_decode *decode, enum ft_column kind)
{
    return decode->heads[kind].planes == 0 && decode->heads[kind].value == 0;
}

// START and DUR: sums along each run. DUR is decoded for START's sake too.
static int decode_times(const struct ft_decode *decode)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    const Flowtap__Block *block = decode->block;
    uint64_t *dur = (uint64_t *)decoder->dur_ns, *start = (uint64_t *)decoder->start_ns, wrong = 0;
    int rc = ft_decode_numbers(decode, FT_COLUMN_DUR, decode->rows, dur);

    if (rc == 0)
        rc = ft_decode_numbers(decode, FT_COLUMN_START, decode->rows, start);
    if (rc)
        return rc;
    for (size_t run = 0, i = 0; run < block->n_run_rows; run++) {
        uint64_t end = (uint64_t)block->start_ns + block->run_start[run];

        for (size_t last = i + block->run_rows[run]; i < last; i++) {
            start[i] += end;
            end = start[i] + dur[i];
            // Both are within the limits: no bit above them, the start moved by one limit.
            wrong |= dur[i] | (start[i] + (uint64_t)FT_TIME_LIMIT_NS) >> 1;
        }
    }
    return wrong >= (uint64_t)FT_TIME_LIMIT_NS ? -EBADMSG : 0;
}

// Columns of 8, 16 and 32 bits; larger numbers make no sense.
#define DECODE_NARROW(type, bits)                                                                                \
    static int decode_##type(const struct ft_decode *decode, enum ft_column kind, uint64_t limit, type##_t *out, \
                             const type##_t **column)                                                            \
    {                                                                                                            \
        const uint64_t *numbers = decode->decoder->numbers;                                                      \
        uint64_t all = 0;                                                                                        \
        int rc;                                                                                                  \
                                                                                                                 \
        *column = out;                                                                                           \
        if (is_absent(decode, kind)) {                                                                           \
            *column = decode->decoder->zeros;                                                                    \
            return 0;                                                                                            \
        }                                                                                                        \
        rc = ft_decode_numbers(decode, kind, decode->rows, decode->decoder->numbers);                            \
        for (size_t i = 0; rc == 0 && i < decode->rows; i++) {                                                   \
            out[i] = (type##_t)numbers[i];                                                                       \
            all |= numbers[i];                                                                                   \
        }                                                                                                        \
        return rc ? rc : all > limit ? -EBADMSG : 0;                                                             \
    }
DECODE_NARROW(uint8, 8)
DECODE_NARROW(uint16, 16)
DECODE_NARROW(uint32, 32)

static int decode_file(const struct ft_decode *decode)
{
    const Flowtap__Block *block = decode->block;
    uint64_t *numbers = decode->decoder->numbers, all = 0;
    uint32_t *file = decode->decoder->file;
    int rc = ft_decode_numbers(decode, FT_COLUMN_FILE, decode->rows, numbers);

    if (rc)
        return rc;
    for (size_t run = 0, i = 0; run < block->n_run_rows; run++) {
        uint64_t before = 0;

        for (size_t last = i + block->run_rows[run]; i < last; i++) {
            before += numbers[i];
            file[i] = (uint32_t)before;
            all |= before;
        }
    }
    return all > UINT32_MAX ? -EBADMSG : 0;
}

static int decode_call(const struct ft_decode *decode, struct ft_rows *out)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    int rc = decode_uint16(decode, FT_COLUMN_CALL, FT_TRACE_CALL_MAX - 1, decoder->call, &out->call);

    // Kinds of a newer format are passed on: unknown kinds are the caller's to skip.
    return rc ? rc : decode_uint8(decode, FT_COLUMN_KIND, UINT8_MAX, decoder->kind, &out->kind);
}

int ft_decode_dense(const struct ft_decode *decode, uint32_t mask, struct ft_rows *out)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    int rc = 0;

    if (mask & (FT_COL_START | FT_COL_DUR)) {
        rc = mask & FT_COL_START ? decode_times(decode)
                                 : ft_decode_numbers(decode, FT_COLUMN_DUR, decode->rows, (uint64_t *)decoder->dur_ns);
        out->start_ns = mask & FT_COL_START ? decoder->start_ns : NULL;
        out->dur_ns = mask & FT_COL_DUR ? decoder->dur_ns : NULL;
    }
    if (rc == 0 && mask & FT_COL_CALL)
        rc = decode_call(decode, out);
    if (rc == 0 && mask & FT_COL_FILE) {
        rc = decode_file(decode);
        out->file = decoder->file;
    }
    if (rc == 0 && mask & FT_COL_CONTEXT)
        rc = decode_uint32(decode, FT_COLUMN_CONTEXT, UINT32_MAX, decoder->context, &out->context);
    if (rc == 0 && mask & FT_COL_NAME)
        rc = decode_uint32(decode, FT_COLUMN_NAME, UINT32_MAX, decoder->name, &out->name);
    if (rc == 0 && mask & FT_COL_NAME)
        rc = decode_uint32(decode, FT_COLUMN_CATEGORY, UINT32_MAX, decoder->category, &out->category);
    if (rc == 0 && mask & FT_COL_FLAGS)
        rc = decode_uint16(decode, FT_COLUMN_FLAGS, UINT16_MAX, decoder->flags, &out->flags);
    return rc;
}
