// SPDX-License-Identifier: MIT
#include "client/cli/analysis_timeline_categories.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/trace/call_name.h"

/* Times of a file are untrusted: kept where sums of them cannot overflow. */
#define TIME_MAX (INT64_C(1) << 61)

static int64_t clamp(int64_t time_ns)
{
    return time_ns > TIME_MAX ? TIME_MAX : time_ns < -TIME_MAX ? -TIME_MAX : time_ns;
}

void ft_categories_init(struct ft_categories *categories, struct ft_timeline *timeline, const struct ft_trace_set *set)
{
    *categories = (struct ft_categories){.timeline = timeline, .set = set};
    categories->pending = ft_cli_alloc((ft_trace_set_thread_count(set) + 1) * sizeof(*categories->pending));
    ft_map_init(&categories->index);
    ft_ends_init(&categories->ends, set);
}

static void add_event(struct ft_categories_block *block, const struct ft_rows *rows, size_t i, int64_t offset_ns)
{
    bool is_call = rows->kind[i] == FT_EVENT_CALL;
    /* One that began in another thread lies in nothing that this one does. */
    if (!is_call && (rows->kind[i] != FT_EVENT_SPAN || rows->has[i] & FT_HAS_ARG)) {
        return;
    }
    int64_t start_ns = clamp(rows->start_ns[i] + offset_ns);
    uint32_t call = rows->call[i] < FT_TRACE_CALL_MAX ? rows->call[i] : 0;
    ft_owned_add(&block->maker, start_ns, clamp(start_ns + rows->dur_ns[i]),
                 is_call ? call : FT_TRACE_CALL_MAX + rows->category[i]);
}

/* What ft_owned_end() left. */
static void keep_segments(struct ft_categories_block *block, uint32_t thread)
{
    size_t first = block->maker.first, count = block->maker.list.count - first;
    if (count == 0) {
        return;
    }
    if (block->part_count == block->part_space) {
        block->part_space = block->part_space ? block->part_space * 2 : 16;
        block->parts = ft_cli_realloc(block->parts, block->part_space, sizeof(*block->parts));
    }
    block->parts[block->part_count++] = (struct ft_categories_part){.thread = thread, .first = first, .count = count};
}

void ft_categories_block_read(struct ft_categories_block *block, const struct ft_trace_set *set, size_t reader,
                              const struct ft_rows *rows)
{
    int64_t offset_ns = ft_trace_set_realtime_ns(set, reader, 0);
    block->reader = reader;
    block->part_count = 0;
    ft_owned_clear(&block->maker);
    for (size_t r = 0; r < rows->run_count; r++) {
        const struct ft_run *run = &rows->runs[r];
        ft_owned_begin(&block->maker);
        for (size_t i = run->first, end = i + run->count; i < end; i++) {
            add_event(block, rows, i, offset_ns);
        }
        ft_owned_end(&block->maker);
        keep_segments(block, ft_trace_set_thread(set, reader, run->thread));
    }
}

void ft_categories_block_fini(struct ft_categories_block *block)
{
    ft_owned_maker_fini(&block->maker);
    free(block->parts);
}

static struct ft_bytes name_of(const struct ft_trace_reader *reader, uint32_t group)
{
    if (group < FT_TRACE_CALL_MAX) {
        return FT_BYTES(ft_call_name_category(reader, group));
    }
    return ft_trace_reader_name(reader, group - FT_TRACE_CALL_MAX);
}

/* Its number; of too many the last one is that of all others. */
static uint32_t category_of(struct ft_categories *categories, size_t reader, uint32_t group)
{
    struct ft_timeline *timeline = categories->timeline;
    struct ft_bytes name = name_of(ft_trace_set_reader(categories->set, reader), group);
    uint32_t count = (uint32_t)timeline->category_count, found;
    if (count >= FT_TIMELINE_CATEGORIES_MAX - 1) {
        if (ft_map_find(&categories->index, name.data, name.len, &found)) {
            return found;
        }
        found = FT_TIMELINE_CATEGORIES_MAX - 1;
        if (count == FT_TIMELINE_CATEGORIES_MAX) {
            return found;
        }
        name = (struct ft_bytes){0};
    } else {
        bool is_new;
        found = ft_map_intern(&categories->index, name.data, name.len, count, &is_new);
        if (!is_new) {
            return found;
        }
    }
    struct ft_timeline_category *made = &timeline->categories[timeline->category_count++];
    made->name = name;
    made->bins_ns = ft_cli_alloc(timeline->count * sizeof(*made->bins_ns));
    return found;
}

static uint32_t cached_category(struct ft_categories *categories, size_t reader, uint32_t group)
{
    size_t slot = group % FT_CATEGORIES_CACHE_SLOTS;
    if (categories->cache[slot].group != group + 1) {
        categories->cache[slot].category = category_of(categories, reader, group);
        categories->cache[slot].group = group + 1;
        /* Calls of that name may have come first, and "all others" are of both. */
        categories->timeline->categories[categories->cache[slot].category].is_span |= group >= FT_TRACE_CALL_MAX;
    }
    return categories->cache[slot].category;
}

/* Its group is a category's number by now. */
static void add_final(struct ft_categories *categories, const struct ft_owned *segment, int64_t from_ns)
{
    const struct ft_timeline *timeline = categories->timeline;
    struct ft_timeline_category *category = &categories->timeline->categories[segment->group];
    for (size_t bin = ft_timeline_bin_of(timeline, from_ns); from_ns < segment->end; bin++) {
        int64_t end_ns = ft_timeline_bin_end(timeline, bin), until_ns = segment->end < end_ns ? segment->end : end_ns;
        category->bins_ns[bin] += until_ns - from_ns;
        category->total_ns += until_ns - from_ns;
        from_ns = until_ns;
    }
}

static void lose(void *context, uint32_t group, int64_t ns)
{
    (void)context, (void)group, (void)ns; /* it is not in the bins yet */
}

/* What of a segment no block to come reaches, above the watermark, goes into the bins; the rest stays. */
static void settle(struct ft_categories *categories, struct ft_owned segment, int64_t watermark_ns,
                   struct ft_owned_list *left)
{
    if (segment.end > watermark_ns) {
        add_final(categories, &segment, segment.start > watermark_ns ? segment.start : watermark_ns);
        segment.end = watermark_ns;
    }
    if (segment.start < segment.end) {
        ft_owned_append(left, &segment);
    }
}

/* What was pending is of later blocks: most segments lie before all of it, and belong to nothing else. */
static void settle_part(struct ft_categories *categories, const struct ft_owned_list *part, uint32_t thread,
                        int64_t watermark_ns)
{
    struct ft_owned_list *pending = &categories->pending[thread], both = {0}, left = {0};
    size_t apart = 0;
    while (apart < part->count && (pending->count == 0 || part->items[apart].end <= pending->items[0].start)) {
        settle(categories, part->items[apart++], watermark_ns, &left);
    }
    struct ft_owned_list rest = {.items = part->items + apart, .count = part->count - apart};
    ft_owned_combine(&rest, pending, &both, lose, NULL);
    for (size_t i = 0; i < both.count; i++) {
        settle(categories, both.items[i], watermark_ns, &left);
    }
    ft_owned_fini(&both);
    ft_owned_fini(pending);
    *pending = left;
}

void ft_categories_take(struct ft_categories *categories, struct ft_categories_block *block)
{
    int64_t watermark_ns = ft_ends_take(&categories->ends, ft_trace_set_reader_host(categories->set, block->reader));
    memset(categories->cache, 0, sizeof(categories->cache));
    struct ft_owned_list *owned = &block->maker.list;
    for (size_t i = 0; i < owned->count; i++) {
        owned->items[i].group = cached_category(categories, block->reader, owned->items[i].group);
    }
    for (size_t p = 0; p < block->part_count; p++) {
        const struct ft_categories_part *part = &block->parts[p];
        struct ft_owned_list list = {.items = &owned->items[part->first], .count = part->count};
        if (part->thread != FT_TRACE_SET_NONE) {
            settle_part(categories, &list, part->thread, watermark_ns);
            continue;
        }
        for (size_t i = 0; i < list.count; i++) { /* its record is lost: nobody knows which other blocks it is in */
            add_final(categories, &list.items[i], list.items[i].start);
        }
    }
}

static int longest_first(const void *a_untyped, const void *b_untyped)
{
    const struct ft_timeline_category *a = a_untyped, *b = b_untyped;
    if (a->total_ns != b->total_ns) {
        return a->total_ns < b->total_ns ? 1 : -1;
    }
    size_t common = a->name.len < b->name.len ? a->name.len : b->name.len;
    int order = common ? memcmp(a->name.data, b->name.data, common) : 0;
    return order ? order : (a->name.len > b->name.len) - (a->name.len < b->name.len);
}

void ft_categories_end(struct ft_categories *categories)
{
    struct ft_timeline *timeline = categories->timeline;
    for (size_t t = 0; t < ft_trace_set_thread_count(categories->set); t++) {
        const struct ft_owned_list *pending = &categories->pending[t];
        for (size_t i = 0; i < pending->count; i++) {
            add_final(categories, &pending->items[i], pending->items[i].start);
        }
        ft_owned_fini(&categories->pending[t]);
    }
    free(categories->pending);
    ft_map_fini(&categories->index);
    ft_ends_fini(&categories->ends);
    if (timeline->category_count > 1) {
        qsort(timeline->categories, timeline->category_count, sizeof(*timeline->categories), longest_first);
    }
}
