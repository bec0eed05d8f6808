// SPDX-License-Identifier: MIT
#include "proto/trace_aggregate.h"

#include "proto/buffer.h"

#define BUCKETS_MIN 64U

// A hash table of indices (plus one) into `all`; open addressing, at most half full.
struct ft_aggregator {
    uint32_t *buckets;
    size_t bucket_count; // power of two
    struct ft_trace_aggregate *all;
    size_t count, cap;
};

struct ft_aggregator *ft_aggregator_create(void)
{
    struct ft_aggregator *aggregator = calloc(1, sizeof(*aggregator));

    if (!aggregator)
        return NULL;
    aggregator->bucket_count = BUCKETS_MIN;
    aggregator->buckets = calloc(BUCKETS_MIN, sizeof(*aggregator->buckets));
    if (!aggregator->buckets) {
        free(aggregator);
        return NULL;
    }
    return aggregator;
}

void ft_aggregator_destroy(struct ft_aggregator *aggregator)
{
    if (!aggregator)
        return;
    free(aggregator->buckets);
    free(aggregator->all);
    free(aggregator);
}

void ft_aggregator_reset(struct ft_aggregator *aggregator)
{
    memset(aggregator->buckets, 0, aggregator->bucket_count * sizeof(*aggregator->buckets));
    aggregator->count = 0;
}

static size_t hash_of(const struct ft_trace_aggregate *key)
{
    uint64_t low = (uint64_t)key->call | (uint64_t)key->kind << 16 | (uint64_t)key->file_class << 24 |
                   (uint64_t)key->file2_class << 32;
    uint64_t high = (uint64_t)key->name << 32 | key->category;
    uint64_t mixed = (low + high * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);

    return (size_t)(mixed >> 32);
}

static bool is_same_key(const struct ft_trace_aggregate *a, const struct ft_trace_aggregate *b)
{
    return a->call == b->call && a->kind == b->kind && a->file_class == b->file_class &&
           a->file2_class == b->file2_class && a->name == b->name && a->category == b->category;
}

// The bucket of a key, or the empty one where it would go.
static uint32_t *find_bucket(const struct ft_aggregator *aggregator, const struct ft_trace_aggregate *key)
{
    size_t mask = aggregator->bucket_count - 1;

    for (size_t i = hash_of(key);; i++) {
        uint32_t *bucket = &aggregator->buckets[i & mask];

        if (*bucket == 0 || is_same_key(&aggregator->all[*bucket - 1], key))
            return bucket;
    }
}

static int double_buckets(struct ft_aggregator *aggregator)
{
    uint32_t *buckets = calloc(aggregator->bucket_count * 2, sizeof(*buckets));

    if (!buckets)
        return -ENOMEM;
    free(aggregator->buckets);
    aggregator->buckets = buckets;
    aggregator->bucket_count *= 2;
    for (size_t i = 0; i < aggregator->count; i++)
        *find_bucket(aggregator, &aggregator->all[i]) = (uint32_t)i + 1;
    return 0;
}

struct ft_trace_aggregate *ft_aggregator_get(struct ft_aggregator *aggregator, const struct ft_trace_aggregate *key)
{
    uint32_t *bucket = find_bucket(aggregator, key);
    struct ft_trace_aggregate *aggregate;

    if (*bucket)
        return &aggregator->all[*bucket - 1];
    if (aggregator->count >= FT_AGGREGATE_KEYS_MAX ||
        ft_array_grow(&aggregator->all, &aggregator->cap, aggregator->count, sizeof(*aggregator->all)))
        return NULL;
    if (2 * (aggregator->count + 1) > aggregator->bucket_count) {
        if (double_buckets(aggregator))
            return NULL;
        bucket = find_bucket(aggregator, key);
    }
    aggregate = &aggregator->all[aggregator->count++];
    *bucket = (uint32_t)aggregator->count;
    *aggregate = (struct ft_trace_aggregate){
        .call = key->call,
        .kind = key->kind,
        .file_class = key->file_class,
        .file2_class = key->file2_class,
        .name = key->name,
        .category = key->category,
        .min_ns = UINT64_MAX,
    };
    return aggregate;
}

void ft_aggregate_merge(struct ft_trace_aggregate *into, const struct ft_trace_aggregate *from)
{
    into->count += from->count;
    into->errors += from->errors;
    into->bytes += from->bytes;
    into->time_ns += from->time_ns;
    if (from->count && from->min_ns < into->min_ns)
        into->min_ns = from->min_ns;
    if (from->max_ns > into->max_ns)
        into->max_ns = from->max_ns;
    for (unsigned i = 0; i < FT_LOG2_BUCKETS; i++) {
        into->sizes[i] += from->sizes[i];
        into->durations[i] += from->durations[i];
    }
}

const struct ft_trace_aggregate *ft_aggregator_all(const struct ft_aggregator *aggregator, size_t *count)
{
    *count = aggregator->count;
    return aggregator->all;
}

size_t ft_aggregator_memory(const struct ft_aggregator *aggregator)
{
    return sizeof(*aggregator) + aggregator->bucket_count * sizeof(*aggregator->buckets) +
           aggregator->cap * sizeof(*aggregator->all);
}
