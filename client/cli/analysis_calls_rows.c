// SPDX-License-Identifier: MIT
/* Totals per call of chosen rows, which no head of a block holds. */
#include "client/cli/analysis_calls.h"
#include "client/cli/cli.h"

void ft_calls_sum_rows(struct ft_aggregator *sums, const struct ft_trace_reader *reader, const struct ft_rows *rows)
{
    ft_aggregator_reset(sums);
    for (size_t i = 0; i < rows->count; i++) {
        const struct ft_trace_aggregate key = {
            .call = rows->call[i],
            .kind = rows->kind[i],
            .file_class = (uint8_t)ft_trace_reader_file_class(reader, rows->file[i]),
            .file2_class = (uint8_t)ft_trace_reader_file_class(reader, rows->file2[i]),
            .name = rows->name[i],
            .category = rows->category[i],
        };
        /* One block has no more keys than it may hold. */
        struct ft_trace_aggregate *sum = ft_cli_memory(ft_aggregator_get(sums, &key));
        ft_aggregate_add(sum, (uint64_t)rows->dur_ns[i], rows->has[i] & FT_HAS_BYTES, rows->bytes[i],
                         rows->err[i] != 0);
    }
}

void ft_calls_add_sums(struct ft_calls *calls, const struct ft_trace_reader *reader, const struct ft_aggregator *sums)
{
    size_t count;
    const struct ft_trace_aggregate *all = ft_aggregator_all(sums, &count);
    for (size_t i = 0; i < count; i++) {
        ft_calls_add(calls, reader, &all[i]);
    }
}
