// SPDX-License-Identifier: MIT
#include "client/cli/analysis_calls.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_count.h"
#include "client/cli/cli.h"
#include "client/cli/report.h"
#include "proto/calls.h"

void ft_calls_init(struct ft_calls *calls)
{
    memset(calls, 0, sizeof(*calls));
    ft_map_init(&calls->index);
}

void ft_calls_fini(struct ft_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++) {
        free(calls->items[i].name);
        free(calls->items[i].category);
    }
    free(calls->items);
    ft_map_fini(&calls->index);
}

static struct ft_call_sum *sum_of(struct ft_calls *calls, bool is_span, const char *category, const char *name)
{
    char *key = ft_cli_format("%c%s\n%s", is_span ? 's' : 'c', category, name);
    bool is_new;
    uint32_t at = ft_map_intern(&calls->index, key, strlen(key), (uint32_t)calls->count, &is_new);
    free(key);
    if (!is_new) {
        return &calls->items[at];
    }
    if (calls->count == calls->space) {
        calls->space = calls->space ? calls->space * 2 : 64;
        calls->items = ft_cli_realloc(calls->items, calls->space, sizeof(*calls->items));
    }
    struct ft_call_sum *sum = &calls->items[calls->count++];
    *sum = (struct ft_call_sum){
        .name = ft_cli_strdup(name), .category = ft_cli_strdup(category), .is_span = is_span, .min_ns = UINT64_MAX};
    return sum;
}

static struct ft_call_sum *sum_of_call(struct ft_calls *calls, const struct ft_trace_reader *reader, unsigned call)
{
    if (calls->known_of != reader) {
        memset(calls->known, 0, sizeof(calls->known));
        calls->known_of = reader;
    }
    if (call < FT_TRACE_CALL_MAX && calls->known[call] > 0) {
        return &calls->items[calls->known[call] - 1];
    }
    char room[32];
    const char *name = ft_call_name_find(reader, call, room, sizeof(room));
    struct ft_call_sum *sum = sum_of(calls, false, ft_call_name_category(reader, call), name);
    sum->group = ft_call_name_group(reader, call);
    sum->is_late = ft_count_is_late(name, sum->group);
    if (call < FT_TRACE_CALL_MAX) {
        calls->known[call] = (uint32_t)(sum - calls->items) + 1;
    }
    return sum;
}

static struct ft_call_sum *sum_of_aggregate(struct ft_calls *calls, const struct ft_trace_reader *reader,
                                            const struct ft_trace_aggregate *aggregate)
{
    if (aggregate->kind == FT_EVENT_CALL) {
        return sum_of_call(calls, reader, aggregate->call);
    }
    if (aggregate->kind != FT_EVENT_SPAN) {
        return NULL;
    }
    struct ft_bytes name = ft_trace_reader_name(reader, aggregate->name);
    struct ft_bytes category = ft_trace_reader_name(reader, aggregate->category);
    return sum_of(calls, true, category.data, name.data);
}

static void add_to(struct ft_sum *sum, const struct ft_sum *more)
{
    sum->count += more->count;
    sum->bytes += more->bytes;
    sum->time_ns += more->time_ns;
}

static void add_figures(struct ft_calls *calls, const struct ft_call_sum *call, unsigned mask,
                        const struct ft_sum *more)
{
    struct ft_sum no_bytes = {.count = more->count, .time_ns = more->time_ns};
    if (mask & FT_COUNT_READ) {
        add_to(&calls->read, more);
        calls->late.read += call->is_late ? more->bytes : 0;
    }
    if (mask & FT_COUNT_WRITE) {
        add_to(&calls->write, more);
        calls->late.write += call->is_late ? more->bytes : 0;
    }
    if (mask & FT_COUNT_METADATA) {
        add_to(&calls->metadata, &no_bytes);
    }
    if (mask & FT_COUNT_OTHER_IO) {
        add_to(&calls->other_io, more);
    }
    unsigned stream = mask & FT_COUNT_METADATA ? ft_count_of_stream(call->name, call->category, call->group) : 0;
    calls->read.bytes += stream & FT_COUNT_READ ? more->bytes : 0;
    calls->write.bytes += stream & FT_COUNT_WRITE ? more->bytes : 0;
}

void ft_calls_add(struct ft_calls *calls, const struct ft_trace_reader *reader,
                  const struct ft_trace_aggregate *aggregate)
{
    struct ft_call_sum *sum = sum_of_aggregate(calls, reader, aggregate);
    if (!sum || aggregate->count == 0) {
        return;
    }
    struct ft_sum more = {.count = aggregate->count, .bytes = aggregate->bytes, .time_ns = aggregate->time_ns};
    add_to(&sum->sum, &more);
    sum->errors += aggregate->errors;
    sum->min_ns = aggregate->min_ns < sum->min_ns ? aggregate->min_ns : sum->min_ns;
    sum->max_ns = aggregate->max_ns > sum->max_ns ? aggregate->max_ns : sum->max_ns;
    for (int bucket = 0; bucket < FT_LOG2_BUCKETS; bucket++) {
        sum->sizes[bucket] += aggregate->sizes[bucket];
        sum->durations[bucket] += aggregate->durations[bucket];
    }
    if (aggregate->kind == FT_EVENT_CALL && ft_count_has_category(sum->category)) {
        unsigned mask = ft_count_of(sum->group, aggregate->file_class, aggregate->file2_class);
        sum->stored_by_mask[mask] += aggregate->count;
        add_figures(calls, sum, mask, &more);
        for (int bucket = 0; bucket < FT_LOG2_BUCKETS; bucket++) {
            calls->read_sizes[bucket] += mask & FT_COUNT_READ ? aggregate->sizes[bucket] : 0;
            calls->write_sizes[bucket] += mask & FT_COUNT_WRITE ? aggregate->sizes[bucket] : 0;
        }
    }
}

/* `kind` is FT_TRACE_PROFILE where the blocks are PROFILE frames. */
static void add_blocks(struct ft_calls *calls, const struct ft_trace_set *set, size_t kind,
                       const struct ft_trace_set_block *blocks, size_t count)
{
    struct ft_trace_decoder *decoder;
    if (!ft_cli_decoded(ft_trace_decoder_create(&decoder))) {
        calls->bad_blocks += count;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(set, blocks[i].reader);
        const struct ft_trace_aggregate *aggregates;
        size_t aggregate_count;
        if (!ft_cli_decoded(
                ft_trace_decoder_aggregates(decoder, reader, kind | blocks[i].block, &aggregates, &aggregate_count))) {
            calls->bad_blocks++;
            continue;
        }
        for (size_t k = 0; k < aggregate_count; k++) {
            ft_calls_add(calls, reader, &aggregates[k]);
        }
    }
    ft_trace_decoder_destroy(decoder);
}

static void add_dropped(struct ft_calls *calls, const struct ft_trace_set *set)
{
    for (uint32_t p = 0; p < ft_trace_set_process_count(set); p++) {
        const struct ft_trace_set_process *process = ft_trace_set_process(set, p);
        const struct ft_trace_reader *reader = ft_trace_set_reader(set, process->reader);
        for (size_t i = 0; i < process->record->dropped_calls_count; i++) {
            const struct ft_trace_dropped *dropped = &process->record->dropped_calls[i];
            struct ft_call_sum *sum = sum_of_call(calls, reader, dropped->call);
            struct ft_sum more = {.count = dropped->count, .bytes = dropped->bytes, .time_ns = dropped->time_ns};
            add_to(&sum->sum, &more);
            add_to(&sum->dropped, &more);
        }
    }
}

static uint64_t share_of(uint64_t amount, uint64_t part, uint64_t whole)
{
    return (uint64_t)((unsigned __int128)amount * part / whole);
}

/* Takes the next mask's share off what is left, so that the shares add up exactly. */
static void share_out(struct ft_calls *calls, const struct ft_call_sum *call)
{
    struct ft_sum left = call->dropped;
    uint64_t stored = 0;
    for (unsigned mask = 0; mask < 16; mask++) {
        stored += call->stored_by_mask[mask];
    }
    if (stored == 0) {
        unsigned second = call->is_late ? FT_FILE_CLASS_NONE : FT_FILE_CLASS_STORAGE;
        add_figures(calls, call, ft_count_of(call->group, FT_FILE_CLASS_STORAGE, second), &left);
    }
    for (unsigned mask = 0; mask < 16 && stored > 0; mask++) {
        uint64_t part = call->stored_by_mask[mask];
        struct ft_sum share = {.count = share_of(left.count, part, stored),
                               .bytes = share_of(left.bytes, part, stored),
                               .time_ns = share_of(left.time_ns, part, stored)};
        add_figures(calls, call, mask, &share);
        left.count -= share.count;
        left.bytes -= share.bytes;
        left.time_ns -= share.time_ns;
        stored -= part;
    }
}

void ft_calls_read(struct ft_calls *calls, const struct ft_trace_set *set)
{
    size_t count;
    const struct ft_trace_set_block *blocks = ft_trace_set_blocks(set, &count);
    add_blocks(calls, set, 0, blocks, count);
    blocks = ft_trace_set_profiles(set, &count);
    add_blocks(calls, set, FT_TRACE_PROFILE, blocks, count);
    struct ft_sum read = calls->read, write = calls->write, metadata = calls->metadata;
    struct ft_late_bytes late = calls->late;
    add_dropped(calls, set);
    for (size_t i = 0; i < calls->count; i++) {
        if (calls->items[i].dropped.count > 0 && ft_count_has_category(calls->items[i].category)) {
            share_out(calls, &calls->items[i]);
        }
    }
    calls->dropped_read = ft_sum_without(&calls->read, &read);
    calls->dropped_write = ft_sum_without(&calls->write, &write);
    calls->dropped_late = (struct ft_late_bytes){calls->late.read - late.read, calls->late.write - late.write};
    calls->dropped_metadata = ft_sum_without(&calls->metadata, &metadata);
}

bool ft_calls_know_io_times(const struct ft_calls *calls)
{
    uint64_t all = calls->read.count + calls->write.count + calls->metadata.count;
    uint64_t dropped = calls->dropped_read.count + calls->dropped_write.count + calls->dropped_metadata.count;
    return all == 0 || all > dropped;
}

static int compare(const void *a_untyped, const void *b_untyped)
{
    const struct ft_call_sum *a = a_untyped, *b = b_untyped;
    if (a->sum.time_ns != b->sum.time_ns) {
        return a->sum.time_ns < b->sum.time_ns ? 1 : -1;
    }
    if (a->sum.count != b->sum.count) {
        return a->sum.count < b->sum.count ? 1 : -1;
    }
    return strcmp(a->name, b->name);
}

void ft_calls_sort(struct ft_calls *calls)
{
    if (calls->count > 1) {
        qsort(calls->items, calls->count, sizeof(*calls->items), compare);
    }
    ft_map_fini(&calls->index); /* the positions no longer hold */
    ft_map_init(&calls->index);
    calls->known_of = NULL;
}
