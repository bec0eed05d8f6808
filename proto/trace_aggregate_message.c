// SPDX-License-Identifier: MIT
#include "proto/trace_aggregate_message.h"

#include <errno.h>
#include <string.h>

#define KEY_KIND_MASK 0xffU
#define KEY_CLASS_AT 8
#define KEY_CLASS2_AT 12
#define KEY_CLASS_MASK 0xfU

_Static_assert(FT_FILE_CLASS_COUNT <= KEY_CLASS_MASK + 1, "class");
_Static_assert(FT_EVENT_KIND_COUNT <= KEY_KIND_MASK + 1, "kind");

// The part of a histogram from its first to its last bucket that is not 0.
static void trim_histogram(const uint64_t *buckets, uint32_t *from, uint64_t **values, size_t *count)
{
    unsigned first = 0, end = FT_LOG2_BUCKETS;

    while (first < end && buckets[first] == 0)
        first++;
    while (end > first && buckets[end - 1] == 0)
        end--;
    *from = end > first ? first : 0;
    *values = (uint64_t *)buckets + first;
    *count = end - first;
}

void ft_aggregate_to_message(const struct ft_trace_aggregate *from, Flowtap__Aggregate *out)
{
    flowtap__aggregate__init(out);
    out->call = from->call;
    out->key = from->kind | (uint32_t)from->file_class << KEY_CLASS_AT | (uint32_t)from->file2_class << KEY_CLASS2_AT;
    out->name = from->name;
    out->category = from->category;
    out->count = from->count;
    out->errors = from->errors;
    out->bytes = from->bytes;
    out->time_ns = from->time_ns;
    out->min_ns = from->min_ns;
    out->max_ns = from->max_ns;
    trim_histogram(from->sizes, &out->sizes_from, &out->sizes, &out->n_sizes);
    trim_histogram(from->durations, &out->durations_from, &out->durations, &out->n_durations);
}

static int fill_histogram(uint32_t from, const uint64_t *values, size_t count, uint64_t *buckets)
{
    if (from > FT_LOG2_BUCKETS || count > FT_LOG2_BUCKETS - from)
        return -EBADMSG;
    if (count)
        memcpy(buckets + from, values, count * sizeof(*values));
    return 0;
}

int ft_aggregate_from_message(const Flowtap__Aggregate *from, struct ft_trace_aggregate *out)
{
    int rc;

    *out = (struct ft_trace_aggregate){
        .call = (uint16_t)from->call,
        .kind = (uint8_t)(from->key & KEY_KIND_MASK),
        .file_class = from->key >> KEY_CLASS_AT & KEY_CLASS_MASK,
        .file2_class = from->key >> KEY_CLASS2_AT & KEY_CLASS_MASK,
        .name = from->name,
        .category = from->category,
        .count = from->count,
        .errors = from->errors,
        .bytes = from->bytes,
        .time_ns = from->time_ns,
        .min_ns = from->min_ns,
        .max_ns = from->max_ns,
    };
    if (from->call >= FT_TRACE_CALL_MAX || out->kind >= FT_EVENT_KIND_COUNT || out->file_class >= FT_FILE_CLASS_COUNT ||
        out->file2_class >= FT_FILE_CLASS_COUNT)
        return -EBADMSG;
    rc = fill_histogram(from->sizes_from, from->sizes, from->n_sizes, out->sizes);
    return rc ? rc : fill_histogram(from->durations_from, from->durations, from->n_durations, out->durations);
}
