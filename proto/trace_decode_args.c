// SPDX-License-Identifier: MIT
#include "proto/trace_decode.h"

#include <errno.h>

// How many each row has, and where its first stands. The sum, or -EBADMSG.
static int64_t decode_counts(const struct ft_decode *decode)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    const uint64_t *numbers = decoder->numbers[0];
    struct ft_column_job job = ft_decode_job(decode, FT_COLUMN_ARGS, decode->rows, decoder->numbers[0]);
    uint64_t total = 0;
    int rc = ft_column_decode(decoder->columns, &job, 1);

    if (rc)
        return rc;
    for (size_t i = 0; i < decode->rows; i++) {
        uint64_t count = numbers[i];

        if (count > FT_EVENT_ARGS_MAX || count > FT_COLUMN_ROWS_MAX - total)
            return -EBADMSG;
        decoder->arg_count[i] = (uint8_t)count;
        decoder->first_arg[i] = (uint32_t)total;
        total += count;
    }
    return (int64_t)total;
}

int ft_decode_args(const struct ft_decode *decode, struct ft_rows *out)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    struct ft_column_job jobs[2];
    int64_t total;
    int rc;

    out->args = decoder->args;
    if (!decode->stored[FT_COLUMN_ARGS]) {
        out->arg_count = decoder->zeros;
        out->first_arg = decoder->zeros;
        return 0;
    }
    total = decode_counts(decode);
    if (total < 0)
        return (int)total;
    jobs[0] = ft_decode_job(decode, FT_COLUMN_ARG_KEY, (size_t)total, decoder->numbers[0]);
    jobs[1] = ft_decode_job(decode, FT_COLUMN_ARG_VALUE, (size_t)total, decoder->numbers[1]);
    rc = ft_column_decode(decoder->columns, jobs, 2);
    if (rc)
        return rc;
    for (size_t i = 0; i < (size_t)total; i++) {
        uint64_t key = decoder->numbers[0][i] >> FT_COLUMN_ARG_TYPE_BITS, value = decoder->numbers[1][i];
        uint8_t type = decoder->numbers[0][i] & ((1 << FT_COLUMN_ARG_TYPE_BITS) - 1);

        if (key > UINT32_MAX || (type == FT_ARG_TEXT && value > UINT32_MAX))
            return -EBADMSG;
        decoder->args[i] = (struct ft_event_arg){.key = (uint32_t)key, .type = type, .value = value};
    }
    out->arg_count = decoder->arg_count;
    out->first_arg = decoder->first_arg;
    out->arg_total = (size_t)total;
    return 0;
}
