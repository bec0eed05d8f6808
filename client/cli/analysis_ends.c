// SPDX-License-Identifier: MIT
#include "client/cli/analysis_ends.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

static int later_first(const void *a_untyped, const void *b_untyped)
{
    int64_t a = *(const int64_t *)a_untyped, b = *(const int64_t *)b_untyped;
    return a != b ? (a < b ? 1 : -1) : 0;
}

void ft_ends_init(struct ft_ends *ends, const struct ft_trace_set *set)
{
    size_t hosts = ft_trace_set_host_count(set), readers = ft_trace_set_reader_count(set), blocks;
    size_t *count = ft_cli_alloc((hosts + 1) * sizeof(*count));
    *ends = (struct ft_ends){.ends_ns = ft_cli_alloc((hosts + 1) * sizeof(*ends->ends_ns)),
                             .taken = ft_cli_alloc((hosts + 1) * sizeof(*ends->taken)),
                             .host_count = hosts};
    for (size_t r = 0; r < readers; r++) {
        const struct ft_trace_block *heads = ft_trace_reader_blocks(ft_trace_set_reader(set, r), &blocks);
        uint32_t host = ft_trace_set_reader_host(set, r);
        int64_t *list = ft_cli_realloc(ends->ends_ns[host], count[host] + blocks + 1, sizeof(*list));
        for (size_t b = 0; b < blocks; b++) {
            list[count[host]++] = ft_trace_set_realtime_ns(set, r, heads[b].end_ns);
        }
        ends->ends_ns[host] = list;
    }
    for (size_t h = 0; h < hosts; h++) {
        if (count[h] > 1) {
            qsort(ends->ends_ns[h], count[h], sizeof(**ends->ends_ns), later_first);
        }
        if (ends->ends_ns[h]) {
            ends->ends_ns[h][count[h]] = INT64_MIN;
        }
    }
    free(count);
}

void ft_ends_fini(struct ft_ends *ends)
{
    for (size_t h = 0; h < ends->host_count; h++) {
        free(ends->ends_ns[h]);
    }
    free(ends->ends_ns);
    free(ends->taken);
    memset(ends, 0, sizeof(*ends));
}

int64_t ft_ends_take(struct ft_ends *ends, uint32_t host)
{
    return ends->ends_ns[host][++ends->taken[host]];
}
