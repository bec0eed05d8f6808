// SPDX-License-Identifier: MIT
#include "proto/trace_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/buffer.h"

#define BUCKETS_MIN 256U

static bool is_same_key(const struct ft_event *a, const struct ft_event *b)
{
    return a->file == b->file && a->call == b->call && a->thread == b->thread && a->file2 == b->file2 &&
           a->context == b->context && a->kind == b->kind && a->name == b->name && a->category == b->category;
}

static size_t hash_of(const struct ft_event *key)
{
    uint64_t low = (uint64_t)key->file << 32 | (uint64_t)key->call << 8 | key->kind;
    uint64_t high = (uint64_t)key->thread << 32 | key->context;
    uint64_t names = (uint64_t)key->file2 << 32 | (key->name ^ key->category << 16);
    uint64_t mixed = (low ^ (high + names) * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);

    return (size_t)(mixed >> 32);
}

// The bucket of a key: that of its row, or an empty one.
static uint32_t *find_bucket(const struct ft_profile *profile, const struct ft_event *key)
{
    size_t mask = profile->bucket_count - 1, at = hash_of(key) & mask;

    while (profile->buckets[at] && !is_same_key(&profile->rows[profile->buckets[at] - 1], key))
        at = (at + 1) & mask;
    return &profile->buckets[at];
}

static int grow_buckets(struct ft_profile *profile)
{
    size_t count = profile->bucket_count ? profile->bucket_count * 2 : BUCKETS_MIN;
    uint32_t *buckets = calloc(count, sizeof(*buckets));

    if (!buckets)
        return -ENOMEM;
    free(profile->buckets);
    profile->buckets = buckets;
    profile->bucket_count = count;
    for (uint32_t i = 0; i < profile->count; i++)
        *find_bucket(profile, &profile->rows[i]) = i + 1;
    return 0;
}

// The row of a key, made where it is new; NULL on -ENOMEM.
static struct ft_event *get_row(struct ft_profile *profile, const struct ft_event *event)
{
    uint32_t *bucket;

    if (profile->last < profile->count && is_same_key(&profile->rows[profile->last], event))
        return &profile->rows[profile->last];
    if (profile->count >= profile->bucket_count / 2 && grow_buckets(profile))
        return NULL;
    bucket = find_bucket(profile, event);
    if (!*bucket) {
        if (ft_array_grow(&profile->rows, &profile->cap, profile->count, sizeof(*profile->rows)))
            return NULL;
        profile->rows[profile->count++] = (struct ft_event){
            .start_ns = event->start_ns,
            .thread = event->thread,
            .file = event->file,
            .file2 = event->file2,
            .fd = -1,
            .context = event->context,
            .name = event->name,
            .category = event->category,
            .call = event->call,
            .kind = event->kind,
            .has = FT_HAS_ARG | FT_HAS_RESULT | FT_HAS_SIZE,
        };
        *bucket = (uint32_t)profile->count;
    }
    profile->last = *bucket - 1;
    profile->last_total = NULL;
    return &profile->rows[profile->last];
}

// The total of the head that an event counts to; NULL on -ENOMEM, or where there are too many keys (has_many_keys).
static struct ft_trace_aggregate *find_total(struct ft_profile *profile, const struct ft_event *event,
                                             uint8_t file_class, uint8_t file2_class)
{
    struct ft_trace_aggregate key; // without its sums: they are a thousand bytes, and nobody reads them
    struct ft_trace_aggregate *total;
    size_t count;

    key.call = event->call;
    key.kind = event->kind;
    key.file_class = file_class;
    key.file2_class = file2_class;
    key.name = event->name;
    key.category = event->category;
    if (!profile->aggregator && !(profile->aggregator = ft_aggregator_create()))
        return NULL;
    total = ft_aggregator_get(profile->aggregator, &key);
    if (!total) {
        ft_aggregator_all(profile->aggregator, &count);
        profile->has_many_keys = count == FT_AGGREGATE_KEYS_MAX;
    }
    return total;
}

static void add_to_total(struct ft_trace_aggregate *total, const struct ft_event *event)
{
    ft_aggregate_add(total, (uint64_t)event->dur_ns, event->has & FT_HAS_BYTES, event->bytes,
                     event->has & FT_HAS_ERR && event->err != 0);
}

// Adds to the totals of the head; gives them up where there are too many keys. The event is of row `last`.
static int add_up(struct ft_profile *profile, const struct ft_event *event, uint8_t file_class, uint8_t file2_class)
{
    if (profile->has_many_keys)
        return 0;
    if (!profile->last_total) {
        profile->last_total = find_total(profile, event, file_class, file2_class);
        if (!profile->last_total)
            return profile->has_many_keys ? 0 : -ENOMEM;
    }
    add_to_total(profile->last_total, event);
    return 0;
}

// Sums that a clock or a program may have made absurd stay below what a file may say.
static int64_t add_time(int64_t sum_ns, int64_t more_ns)
{
    return more_ns < FT_TIME_LIMIT_NS - 1 - sum_ns ? sum_ns + more_ns : FT_TIME_LIMIT_NS - 1;
}

static void add_to_row(struct ft_profile *profile, const struct ft_event *event)
{
    struct ft_event *row = &profile->rows[profile->last];
    int64_t span_ns = event->start_ns + event->dur_ns - row->start_ns;
    row->size = span_ns > row->size ? span_ns : row->size;
    row->dur_ns = add_time(row->dur_ns, event->dur_ns);
    row->arg++;
    row->bytes += event->has & FT_HAS_BYTES ? event->bytes : 0;
    row->has |= event->has & FT_HAS_BYTES;
    row->result += event->has & FT_HAS_ERR && event->err != 0;
    row->flags |= event->flags;
    profile->events++;
}

int ft_profile_add(struct ft_profile *profile, const struct ft_event *event, uint8_t file_class, uint8_t file2_class)
{
    int rc = get_row(profile, event) ? add_up(profile, event, file_class, file2_class) : -ENOMEM;

    if (rc == 0)
        add_to_row(profile, event);
    return rc;
}

bool ft_profile_add_again(struct ft_profile *profile, const struct ft_event *event)
{
    if (!profile->last_total || profile->has_many_keys || !is_same_key(&profile->rows[profile->last], event))
        return false;
    add_to_total(profile->last_total, event);
    add_to_row(profile, event);
    return true;
}

void ft_profile_reset(struct ft_profile *profile)
{
    if (profile->count)
        memset(profile->buckets, 0, profile->bucket_count * sizeof(*profile->buckets));
    profile->count = 0;
    profile->last = 0;
    profile->last_total = NULL;
    profile->events = 0;
    profile->has_many_keys = false;
    if (profile->aggregator)
        ft_aggregator_reset(profile->aggregator);
}

void ft_profile_fini(struct ft_profile *profile)
{
    free(profile->rows);
    free(profile->buckets);
    ft_aggregator_destroy(profile->aggregator);
    *profile = (struct ft_profile){0};
}

size_t ft_profile_memory(const struct ft_profile *profile)
{
    return profile->cap * sizeof(*profile->rows) + profile->bucket_count * sizeof(*profile->buckets) +
           (profile->aggregator ? ft_aggregator_memory(profile->aggregator) : 0);
}
