// SPDX-License-Identifier: MIT
#include "proto/trace_decode.h"

#include <errno.h>

struct ft_column_job ft_decode_job(const struct ft_decode *decode, enum ft_column kind, size_t count, uint64_t *out)
{
    return (struct ft_column_job){
        .head = &decode->heads[kind], .stored = decode->stored[kind], .count = count, .numbers = out};
}

// A column with a number for each row, as items of `bits` bits.
static struct ft_column_job narrow_job(const struct ft_decode *decode, enum ft_column kind, uint64_t *numbers,
                                       unsigned bits, uint32_t limit, void *out)
{
    struct ft_column_job job = ft_decode_job(decode, kind, decode->rows, numbers);

    job.narrow = out;
    job.bits = bits;
    job.limit = limit;
    return job;
}

// Where the row's item is in a column that is by call.
static inline size_t place_of(const struct ft_decode *decode, size_t row)
{
    return decode->first_of_call[decode->call[row]] + decode->decoder->ranks[row];
}

// Items that are by call back in order of rows.
#define UNGROUP(type)                                                                          \
    static void ungroup_##type(const struct ft_decode *decode, const type *grouped, type *out) \
    {                                                                                          \
        for (size_t i = 0; i < decode->rows; i++)                                              \
            out[i] = grouped[place_of(decode, i)];                                             \
    }
UNGROUP(uint16_t)
UNGROUP(uint64_t)

// Where the numbers of each call begin in columns that are by call, and which of them is each row's. Counting once for
// all columns: each count of a call waits for the one before.
static void count_calls(struct ft_decode *decode)
{
    uint16_t *ranks = decode->decoder->ranks;
    uint32_t sum = 0;

    _Static_assert(FT_COLUMN_ROWS_MAX - 1 <= UINT16_MAX, "ranks");
    memset(decode->first_of_call, 0, sizeof(decode->first_of_call));
    for (size_t i = 0; i < decode->rows; i++)
        ranks[i] = (uint16_t)decode->first_of_call[decode->call[i]]++;
    for (size_t id = 0; id < FT_TRACE_CALL_MAX; id++) {
        uint32_t rows = decode->first_of_call[id];

        decode->first_of_call[id] = sum;
        sum += rows;
    }
}

static bool is_absent(const struct ft_column_head *head)
{
    return head->planes == 0 && head->value == 0;
}

// Both are within the limits: no bit above them, the start moved by one limit.
static inline uint64_t beyond(uint64_t start, uint64_t dur)
{
    return dur | (start + (uint64_t)FT_TIME_LIMIT_NS) >> 1;
}

// START becomes the sums along each run.
static int add_up_times(const struct ft_decode *decode)
{
    const Flowtap__Block *block = decode->block;
    uint64_t *dur = (uint64_t *)decode->decoder->dur_ns, *start = (uint64_t *)decode->decoder->start_ns, wrong = 0;

    for (size_t run = 0, i = 0; run < block->n_run_rows; run++) {
        uint64_t end = (uint64_t)block->start_ns + block->run_start[run];

        for (size_t last = i + block->run_rows[run]; i < last; i++) {
            start[i] += end;
            end = start[i] + dur[i];
            wrong |= beyond(start[i], dur[i]);
        }
    }
    return wrong >= (uint64_t)FT_TIME_LIMIT_NS ? -EBADMSG : 0;
}

// The same of columns that are by call and near, in one go.
static int add_up_near_times(const struct ft_decode *decode, struct ft_column_near near_start,
                             struct ft_column_near near_dur)
{
    const Flowtap__Block *block = decode->block;
    uint64_t *dur = (uint64_t *)decode->decoder->dur_ns, *start = (uint64_t *)decode->decoder->start_ns, wrong = 0;

    for (size_t run = 0, i = 0; run < block->n_run_rows; run++) {
        uint64_t end = (uint64_t)block->start_ns + block->run_start[run];

        for (size_t last = i + block->run_rows[run]; i < last; i++) {
            size_t at = place_of(decode, i);
            uint64_t begin = end + ft_column_near_number(&near_start, at);
            uint64_t took = ft_column_near_number(&near_dur, at);

            start[i] = begin;
            dur[i] = took;
            end = begin + took;
            wrong |= beyond(begin, took);
        }
    }
    return wrong >= (uint64_t)FT_TIME_LIMIT_NS ? -EBADMSG : 0;
}

// DUR is decoded for START's sake too.
static int decode_times(const struct ft_decode *decode, bool with_start)
{
    static const enum ft_column kinds[] = {FT_COLUMN_DUR, FT_COLUMN_START};
    struct ft_trace_decoder *decoder = decode->decoder;
    uint64_t *outs[] = {(uint64_t *)decoder->dur_ns, (uint64_t *)decoder->start_ns};
    struct ft_column_job jobs[2];
    size_t count = with_start ? 2 : 1;
    bool are_near = with_start;
    int rc;

    for (size_t i = 0; i < count; i++)
        are_near &= decode->heads[kinds[i]].is_by_call && ft_column_may_be_near(&decode->heads[kinds[i]]);
    for (size_t i = 0; i < count; i++) {
        bool is_by_call = decode->heads[kinds[i]].is_by_call;

        jobs[i] = ft_decode_job(decode, kinds[i], decode->rows, is_by_call ? decoder->numbers[i] : outs[i]);
        jobs[i].near = are_near ? (int32_t *)decoder->grouped[i] : NULL;
    }
    rc = ft_column_decode(decoder->columns, jobs, count);
    if (rc)
        return rc;
    if (are_near)
        return add_up_near_times(decode, ft_column_near_of(&jobs[1]), ft_column_near_of(&jobs[0]));
    for (size_t i = 0; i < count; i++)
        if (decode->heads[kinds[i]].is_by_call)
            ungroup_uint64_t(decode, decoder->numbers[i], outs[i]);
    return with_start ? add_up_times(decode) : 0;
}

// FILE, and SHAPE where its values are asked for.
static int decode_file(const struct ft_decode *decode, bool with_shapes)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    const Flowtap__Block *block = decode->block;
    bool is_by_call = with_shapes && decode->heads[FT_COLUMN_SHAPE].is_by_call;
    uint16_t *grouped = (uint16_t *)decoder->grouped[1];
    const uint32_t *numbers = (uint32_t *)decoder->grouped[0];
    struct ft_recent_files recent = {0};
    uint32_t *file = decoder->file;
    uint64_t all = 0;
    struct ft_column_job jobs[] = {
        narrow_job(decode, FT_COLUMN_FILE, decoder->numbers[0], 32, UINT32_MAX, decoder->grouped[0]),
        narrow_job(decode, FT_COLUMN_SHAPE, decoder->numbers[1], 16, UINT16_MAX,
                   is_by_call ? grouped : decoder->shapes)};
    int rc = ft_column_decode(decoder->columns, jobs, with_shapes ? 2 : 1);

    if (rc)
        return rc;
    if (is_by_call)
        ungroup_uint16_t(decode, grouped, decoder->shapes);
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

// Zeros are there for all columns that are absent.
static const void *items_of(const struct ft_decode *decode, enum ft_column kind, const void *items)
{
    return is_absent(&decode->heads[kind]) ? decode->decoder->zeros : items;
}

// At most two columns of narrow items.
static int decode_narrow(const struct ft_decode *decode, const struct ft_column_job *wanted, size_t count)
{
    struct ft_column_job jobs[FT_COLUMN_JOBS];
    size_t job_count = 0;

    for (size_t i = 0; i < count; i++)
        if (!is_absent(wanted[i].head))
            jobs[job_count++] = wanted[i];
    return ft_column_decode(decode->decoder->columns, jobs, job_count);
}

static int decode_call(const struct ft_decode *decode, struct ft_rows *out)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    // Kinds of a newer format are passed on: unknown kinds are the caller's to skip.
    const struct ft_column_job jobs[] = {
        narrow_job(decode, FT_COLUMN_CALL, decoder->numbers[0], 16, FT_TRACE_CALL_MAX - 1, decoder->call),
        narrow_job(decode, FT_COLUMN_KIND, decoder->numbers[1], 8, UINT8_MAX, decoder->kind)};

    out->call = items_of(decode, FT_COLUMN_CALL, decoder->call);
    out->kind = items_of(decode, FT_COLUMN_KIND, decoder->kind);
    return decode_narrow(decode, jobs, 2);
}

static int decode_names(const struct ft_decode *decode, struct ft_rows *out)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    const struct ft_column_job jobs[] = {
        narrow_job(decode, FT_COLUMN_NAME, decoder->numbers[0], 32, UINT32_MAX, decoder->name),
        narrow_job(decode, FT_COLUMN_CATEGORY, decoder->numbers[1], 32, UINT32_MAX, decoder->category)};

    out->name = items_of(decode, FT_COLUMN_NAME, decoder->name);
    out->category = items_of(decode, FT_COLUMN_CATEGORY, decoder->category);
    return decode_narrow(decode, jobs, 2);
}

static int decode_context(const struct ft_decode *decode, struct ft_rows *out)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    const struct ft_column_job job =
        narrow_job(decode, FT_COLUMN_CONTEXT, decoder->numbers[0], 32, UINT32_MAX, decoder->context);

    out->context = items_of(decode, FT_COLUMN_CONTEXT, decoder->context);
    return decode_narrow(decode, &job, 1);
}

static int decode_flags(const struct ft_decode *decode, struct ft_rows *out)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    const struct ft_column_job job =
        narrow_job(decode, FT_COLUMN_FLAGS, decoder->numbers[0], 16, UINT16_MAX, decoder->flags);

    out->flags = items_of(decode, FT_COLUMN_FLAGS, decoder->flags);
    return decode_narrow(decode, &job, 1);
}

static bool has_columns_by_call(const struct ft_decode *decode)
{
    bool has = false;

    for (int kind = 1; kind < FT_COLUMN_END; kind++)
        has |= decode->heads[kind].is_by_call;
    return has;
}

// Whether something is asked for that shapes tell; FILE2 alone is most often absent.
static bool needs_shapes(const struct ft_decode *decode, uint32_t mask)
{
    return mask & FT_COL_SHAPED & ~(uint32_t)FT_COL_FILE2 || (mask & FT_COL_FILE2 && decode->stored[FT_COLUMN_FILE2]);
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
        rc = decode_times(decode, mask & FT_COL_START);
        out->start_ns = mask & FT_COL_START ? decoder->start_ns : NULL;
        out->dur_ns = mask & FT_COL_DUR ? decoder->dur_ns : NULL;
    }
    if (rc == 0 && mask & FT_COL_FILE) {
        rc = decode_file(decode, needs_shapes(decode, mask));
        out->file = decoder->file;
    }
    if (rc == 0 && mask & FT_COL_CONTEXT)
        rc = decode_context(decode, out);
    if (rc == 0 && mask & FT_COL_NAME)
        rc = decode_names(decode, out);
    if (rc == 0 && mask & FT_COL_FLAGS)
        rc = decode_flags(decode, out);
    return rc;
}
