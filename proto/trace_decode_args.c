// SPDX-License-Identifier: MIT
#include "proto/trace_decode.h"

#include <errno.h>

// How many each row has, and where its first stands. The sum, or -EBADMSG.
static int64_t decode_counts(const struct ft_decode *decode)
{
    struct ft_trace_decoder *decoder = decode->decoder;
    uint64_t total = 0;
    int rc = ft_decode_numbers(decode, FT_COLUMN_ARGS, decode->rows, decoder->numbers);

    if (rc)
        return rc;
    for (size_t i = 0; i < decode->rows; i++) {
        uint64_t count = decoder->numbers[i];

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
    rc = ft_decode_numbers(decode, FT_COLUMN_ARG_KEY, (size_t)total, decoder->numbers);
    if (rc == 0)
        rc = ft_decode_numbers(decode, FT_COLUMN_ARG_VALUE, (size_t)total, decoder->grouped);
    if (rc)
        return rc;
    for (size_t i = 0; i < (size_t)total; i++) {
        uint64_t key = decoder->numbers[i] >> FT_COLUMN_ARG_TYPE_BITS, value = decoder->grouped[i];
        uint8_t type = decoder->numbers[i] & ((1 << FT_COLUMN_ARG_TYPE_BITS) - 1);

        if (key > UINT32_MAX || (type == FT_ARG_TEXT && value > UINT32_MAX))
            return -EBADMSG;
        decoder->args[i] = (struct ft_event_arg){.key = (uint32_t)key, .type = type, .value = value};
    }
    out->arg_count = decoder->arg_count;
    out->first_arg = decoder->first_arg;
    out->arg_total = (size_t)total;
    return 0;
}
