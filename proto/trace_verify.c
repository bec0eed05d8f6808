// SPDX-License-Identifier: MIT
#include "proto/trace_aggregate_message.h"
#include "proto/trace_decode.h"

#include <errno.h>

struct verify {
    struct ft_trace_decoder *decoder;
    const struct ft_trace_reader *reader;
    const Flowtap__Block *block;
    struct ft_rows rows;
    bool are_sums;           // of a PROFILE frame
    uint64_t offset, length; // of the frame
};

static int note(const struct verify *verify, unsigned kind, uint64_t count)
{
    struct ft_trace_problem problem = {
        .kind = (uint8_t)kind,
        .offset = verify->offset,
        .length = verify->length,
        .count = count,
    };

    return count ? ft_buffer_append(&verify->decoder->problems, &problem, sizeof(problem)) : 0;
}

// Rows that name records which are not there.
static uint64_t count_missing_args(const struct verify *verify)
{
    const struct ft_rows *rows = &verify->rows;
    uint64_t missing = 0;

    for (size_t i = 0; i < rows->arg_total; i++) {
        const struct ft_event_arg *arg = &rows->args[i];

        // A key that was lost on its way here, or that is empty, is 0.
        missing += (arg->key && ft_trace_reader_name(verify->reader, arg->key).len == 0) ||
                   (arg->type == FT_ARG_TEXT && arg->value &&
                    ft_trace_reader_name(verify->reader, (uint32_t)arg->value).len == 0);
    }
    return missing;
}

static uint64_t count_missing(const struct verify *verify)
{
    const struct ft_trace_reader *reader = verify->reader;
    const struct ft_rows *rows = &verify->rows;
    uint64_t missing = 0;

    for (size_t i = 0; i < rows->run_count; i++)
        if (!ft_trace_reader_thread(reader, rows->runs[i].thread))
            missing += rows->runs[i].count;
    for (size_t i = 0; i < rows->count; i++) {
        const struct ft_reader_context *context = ft_pages_get(&reader->contexts, rows->context[i]);

        missing += (rows->file[i] && !ft_trace_reader_file(reader, rows->file[i]).is_known) ||
                   (rows->file2[i] && !ft_trace_reader_file(reader, rows->file2[i]).is_known) ||
                   (rows->context[i] && !(context && context->is_known)) ||
                   (rows->name[i] && ft_trace_reader_name(reader, rows->name[i]).len == 0) ||
                   (rows->category[i] && ft_trace_reader_name(reader, rows->category[i]).len == 0);
    }
    return missing + count_missing_args(verify);
}

// Whether each run is in order and the head's time range is that of the rows.
static bool are_times_right(const struct verify *verify)
{
    const struct ft_rows *rows = &verify->rows;
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (size_t run = 0; run < rows->run_count; run++) {
        size_t begin = rows->runs[run].first, end = begin + rows->runs[run].count;

        for (size_t i = begin; i < end; i++) {
            int64_t row_end = rows->start_ns[i] + (verify->are_sums ? rows->size[i] : rows->dur_ns[i]);

            if (i > begin && rows->start_ns[i] < rows->start_ns[i - 1])
                return false;
            first = rows->start_ns[i] < first ? rows->start_ns[i] : first;
            last = row_end > last ? row_end : last;
        }
    }
    return first == verify->block->start_ns && (uint64_t)last - (uint64_t)first == verify->block->span_ns;
}

static bool is_same_total(const struct ft_trace_aggregate *a, const struct ft_trace_aggregate *b, bool are_sums)
{
    bool is_same_sum =
        a->count == b->count && a->errors == b->errors && a->bytes == b->bytes && a->time_ns == b->time_ns;

    if (are_sums || !is_same_sum)
        return is_same_sum;
    return a->min_ns == b->min_ns && a->max_ns == b->max_ns && memcmp(a->sizes, b->sizes, sizeof(a->sizes)) == 0 &&
           memcmp(a->durations, b->durations, sizeof(a->durations)) == 0;
}

// Whether the head's totals are those of the rows. Classes of files whose records
// are missing cannot be told, so this is for blocks without missing records.
static int are_totals_right(const struct verify *verify, bool *is_right)
{
    const Flowtap__Block *block = verify->block;
    size_t count;
    int rc;

    *is_right = true;
    if (block->n_aggregates == 0)
        return 0;
    rc = ft_decoder_add_up(verify->decoder, verify->reader, verify->are_sums, &verify->rows);
    if (rc)
        return rc;
    ft_aggregator_all(verify->decoder->aggregator, &count);
    *is_right = count == block->n_aggregates;
    for (size_t i = 0; *is_right && i < block->n_aggregates; i++) {
        const struct ft_trace_aggregate *found;
        struct ft_trace_aggregate told;

        *is_right = ft_aggregate_from_message(block->aggregates[i], &told) == 0;
        if (!*is_right)
            return 0;
        found = ft_aggregator_get(verify->decoder->aggregator, &told);
        if (!found)
            return -ENOMEM;
        *is_right = is_same_total(&told, found, verify->are_sums);
    }
    return 0;
}

static int check_rows(const struct verify *verify)
{
    // What was left out at the limit is missing here, not in the file.
    bool has_records = !verify->reader->is_limited;
    uint64_t missing = has_records ? count_missing(verify) : 0;
    bool is_right = true;
    int rc = note(verify, FT_PROBLEM_MISSING_RECORD, missing);

    if (rc == 0 && missing == 0 && has_records)
        rc = are_totals_right(verify, &is_right);
    if (rc)
        return rc;
    return note(verify, FT_PROBLEM_BAD_TOTALS, !is_right || !are_times_right(verify));
}

int ft_trace_decoder_verify(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                            const struct ft_trace_problem **out, size_t *count)
{
    struct verify verify = {.decoder = decoder, .reader = reader, .are_sums = block & FT_TRACE_PROFILE};
    const struct ft_trace_block *info = ft_decoder_find(reader, block);
    Flowtap__Block *message;
    const uint8_t *data;
    int rc;

    if (!info)
        return -EINVAL;
    verify.offset = info->offset;
    verify.length = FT_FRAME_HEADER_BYTES + (uint64_t)info->head_len + info->data_len;
    decoder->problems.len = 0;
    rc = ft_decoder_load(decoder, reader, block, &message, &data);
    if (rc == 0)
        rc = ft_decoder_decode(decoder, message, data, FT_COL_ALL, &verify.rows);
    if (rc == 0) {
        verify.block = message;
        rc = check_rows(&verify);
    } else if (rc == -EBADMSG) {
        rc = note(&verify, FT_PROBLEM_BAD_BLOCK, 1);
    }
    if (rc)
        return rc;
    *out = (const struct ft_trace_problem *)(void *)decoder->problems.data;
    *count = decoder->problems.len / sizeof(**out);
    return 0;
}
