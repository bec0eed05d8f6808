// SPDX-License-Identifier: MIT
#include "proto/trace_decode.h"

#include <errno.h>

int ft_decode_numbers(const struct ft_decode *decode, enum ft_column kind, size_t count, uint64_t *out)
{
    return ft_column_decode(decode->decoder->columns, &decode->heads[kind], decode->stored[kind], count, out);
}

// The same with a number for each row, back in order of rows.
static int decode_rows(const struct ft_decode *decode, enum ft_column kind, uint64_t *out)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    bool is_by_call = decode->heads[kind].is_by_call;
    const uint16_t *call = decode->call;
    uint32_t next[FT_TRACE_CALL_MAX];
    int rc = ft_decode_numbers(decode, kind, decode->rows, is_by_call ? decoder->grouped : out);

    if (rc || !is_by_call)
        return rc;
    memcpy(next, decode->first_of_call, sizeof(next));
    for (size_t i = 0; i < decode->rows; i++)
        out[i] = decoder->grouped[next[call[i]]++];
    return 0;
}

// Where the numbers of each call begin in columns that are by call.
static void count_calls(struct ft_decode *decode)
{
    uint32_t sum = 0;

    memset(decode->first_of_call, 0, sizeof(decode->first_of_call));
    for (size_t i = 0; i < decode->rows; i++)
        decode->first_of_call[decode->call[i]]++;
    for (size_t id = 0; id < FT_TRACE_CALL_MAX; id++) {
        uint32_t rows = decode->first_of_call[id];

        decode->first_of_call[id] = sum;
        sum += rows;
    }
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
    int rc = decode_rows(decode, FT_COLUMN_DUR, dur);

    if (rc == 0)
        rc = decode_rows(decode, FT_COLUMN_START, start);
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
        rc = decode_rows(decode, kind, decode->decoder->numbers);                                                \
        for (size_t i = 0; rc == 0 && i < decode->rows; i++) {                                                   \
            out[i] = (type##_t)numbers[i];                                                                       \
            all |= numbers[i];                                                                                   \
        }                                                                                                        \
        return rc ? rc : all > limit ? -EBADMSG : 0;                                                             \
    }
DECODE_NARROW(uint8, 8)
DECODE_NARROW(uint16, 16)
DECODE_NARROW(uint32, 32)

int ft_decode_shapes(const struct ft_decode *decode)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    int rc = decode_rows(decode, FT_COLUMN_SHAPE, decoder->numbers);
    uint64_t all = 0;

    for (size_t i = 0; rc == 0 && i < decode->rows; i++) {
        decoder->shapes[i] = (uint16_t)decoder->numbers[i];
        all |= decoder->numbers[i];
    }
    return rc ? rc : all > UINT16_MAX ? -EBADMSG : 0;
}

static int decode_file(const struct ft_decode *decode)
{
    const Flowtap__Block *block = decode->block;
    uint64_t *numbers = decode->decoder->numbers, all = 0;
    struct ft_recent_files recent = {0};
    uint32_t *file = decode->decoder->file;
    int rc = decode_rows(decode, FT_COLUMN_FILE, numbers);

    if (rc)
        return rc;
    for (size_t run = 0, i = 0; run < block->n_run_rows; run++) {
        ft_recent_files_begin_run(&recent);
        for (size_t last = i + block->run_rows[run]; i < last; i++) {
            uint64_t id = ft_recent_files_decode(&recent, numbers[i]);

            file[i] = (uint32_t)id;
            all |= id;
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

static bool has_columns_by_call(const struct ft_decode *decode)
{
    bool has = false;

    for (int kind = 1; kind < FT_COLUMN_END; kind++)
        has |= decode->heads[kind].is_by_call;
    return has;
}

int ft_decode_dense(struct ft_decode *decode, uint32_t mask, struct ft_rows *out)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    bool is_by_call = has_columns_by_call(decode);
    int rc = 0;

    // Calls first: other columns may be in their order.
    if (mask & FT_COL_CALL || is_by_call)
        rc = decode_call(decode, out);
    if (rc)
        return rc;
    decode->call = out->call;
    if (is_by_call)
        count_calls(decode);
    if (mask & (FT_COL_START | FT_COL_DUR)) {
        rc = mask & FT_COL_START ? decode_times(decode)
                                 : decode_rows(decode, FT_COLUMN_DUR, (uint64_t *)decoder->dur_ns);
        out->start_ns = mask & FT_COL_START ? decoder->start_ns : NULL;
        out->dur_ns = mask & FT_COL_DUR ? decoder->dur_ns : NULL;
    }
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
