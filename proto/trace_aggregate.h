// SPDX-License-Identifier: MIT
//
// Adds up rows per call and file class: what a block's head holds. Also for
// readers that add up blocks. One thread at a time for each aggregator.
#ifndef FT_PROTO_TRACE_AGGREGATE_H
#define FT_PROTO_TRACE_AGGREGATE_H

#include "proto/trace_record.h"

struct ft_aggregator;

// More keys than this in one aggregator are refused with -EOVERFLOW.
#define FT_AGGREGATE_KEYS_MAX 65536U

struct ft_aggregator *ft_aggregator_create(void);
void ft_aggregator_destroy(struct ft_aggregator *aggregator);
void ft_aggregator_reset(struct ft_aggregator *aggregator);

// The aggregate of a key, made with all sums 0 (and min_ns the largest) where it
// is new; NULL on -ENOMEM or -EOVERFLOW. Only the key's fields of `key` are read. Valid until the
// next _get.
struct ft_trace_aggregate *ft_aggregator_get(struct ft_aggregator *aggregator, const struct ft_trace_aggregate *key);

// Adds the sums of `from`, which has the same key.
void ft_aggregate_merge(struct ft_trace_aggregate *into, const struct ft_trace_aggregate *from);

// One row.
static inline void ft_aggregate_add(struct ft_trace_aggregate *into, uint64_t dur_ns, bool has_bytes, uint64_t bytes,
                                    bool is_error)
{
    into->count++;
    into->errors += is_error;
    into->time_ns += dur_ns;
    if (dur_ns < into->min_ns)
        into->min_ns = dur_ns;
    if (dur_ns > into->max_ns)
        into->max_ns = dur_ns;
    into->durations[ft_log2_bucket(dur_ns)]++;
    if (has_bytes) {
        into->bytes += bytes;
        into->sizes[ft_log2_bucket(bytes)]++;
    }
}

// Bytes of memory that it holds.
size_t ft_aggregator_memory(const struct ft_aggregator *aggregator);

// All aggregates, in order of first use.
const struct ft_trace_aggregate *ft_aggregator_all(const struct ft_aggregator *aggregator, size_t *count);

#endif
