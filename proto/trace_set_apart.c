// SPDX-License-Identifier: MIT
//
// Which of the files that were opened do not belong to the set: a copy would count all twice, and times from a clock that
// nobody knows would lie decades beside the others'.
#include "proto/trace_set_impl.h"

static bool is_same(struct ft_bytes a, struct ft_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

// A daemon creates a part of a job once: two such files began as one. An older writer's may not say when.
static bool is_copy(const struct ft_trace_reader *a, const struct ft_trace_reader *b)
{
    const struct ft_trace_header *x = &a->header, *y = &b->header;

    return a->has_header && b->has_header && x->created_ns != 0 && x->host.len + x->boot_id.len > 0 &&
           x->created_ns == y->created_ns && x->part == y->part && x->uid == y->uid &&
           x->realtime_offset_ns == y->realtime_offset_ns && is_same(x->host, y->host) &&
           is_same(x->boot_id, y->boot_id) && is_same(x->job.id, y->job.id) && is_same(x->writer, y->writer);
}

// Of a file without a header: no other has a block of the same times and size.
static bool has_block_of(const struct ft_trace_reader *reader, const struct ft_trace_reader *headless)
{
    const struct ft_trace_block *mine = headless->blocks.items;

    for (size_t i = 0; headless->blocks.count > 0 && i < reader->blocks.count; i++) {
        const struct ft_trace_block *block = &reader->blocks.items[i];

        if (block->start_ns == mine->start_ns && block->end_ns == mine->end_ns && block->rows == mine->rows &&
            block->head_len == mine->head_len && block->data_len == mine->data_len)
            return true;
    }
    return false;
}

// A sound one that was closed has all; else the one with more events. Of equal ones the first stays.
static bool is_better(const struct ft_trace_reader *a, const struct ft_trace_reader *b)
{
    bool has_all_a = a->is_closed && !a->is_partial, has_all_b = b->is_closed && !b->is_partial;

    if (has_all_a != has_all_b)
        return has_all_a;
    return a->events + a->profiled > b->events + b->profiled;
}

static int leave_out(struct ft_trace_set *set, struct ft_set_reader *entry, const struct ft_trace_reader *copy_of)
{
    struct ft_trace_set_left_out left_out = {.path = strdup(ft_trace_reader_path(entry->reader))};

    if (copy_of)
        left_out.copy_of = strdup(ft_trace_reader_path(copy_of));
    if (!left_out.path || (copy_of && !left_out.copy_of) ||
        ft_array_grow(&set->left_out, &set->left_out_cap, set->left_out_count, sizeof(*set->left_out))) {
        free(left_out.path);
        free(left_out.copy_of);
        return -ENOMEM;
    }
    set->left_out[set->left_out_count++] = left_out;
    ft_trace_reader_close(entry->reader);
    entry->reader = NULL;
    return 0;
}

// Of the copies that stand from `first` on, up to *end, the best one stays.
static int take_one(struct ft_trace_set *set, size_t first, size_t *end)
{
    size_t best = first;
    int rc = 0;

    for (*end = first + 1; *end < set->reader_count; (*end)++) {
        if (!is_copy(set->readers[first].reader, set->readers[*end].reader))
            break;
        if (is_better(set->readers[*end].reader, set->readers[best].reader))
            best = *end;
    }
    for (size_t i = first; rc == 0 && i < *end; i++)
        if (i != best)
            rc = leave_out(set, &set->readers[i], set->readers[best].reader);
    return rc;
}

static bool is_headless(const struct ft_trace_reader *reader)
{
    return reader && !reader->has_header && !reader->is_limited;
}

static int leave_out_headless(struct ft_trace_set *set)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < set->reader_count; i++) {
        struct ft_set_reader *headless = &set->readers[i];

        for (size_t k = 0; rc == 0 && is_headless(headless->reader) && k < set->reader_count; k++) {
            struct ft_set_reader *other = &set->readers[k];

            if (k == i || !other->reader || !has_block_of(other->reader, headless->reader))
                continue;
            // What has no clock would be left out itself.
            if (headless->reader->has_clock && is_better(headless->reader, other->reader))
                rc = leave_out(set, other, headless->reader);
            else
                rc = leave_out(set, headless, other->reader);
        }
    }
    return rc;
}

// What has no clock stays where it is alone.
static int leave_out_unclocked(struct ft_trace_set *set)
{
    const struct ft_trace_reader *kept = NULL;
    int rc = 0;

    for (size_t i = 0; i < set->reader_count; i++) {
        const struct ft_trace_reader *reader = set->readers[i].reader;
        bool is_first = !kept || (!kept->has_clock && reader && reader->has_clock);

        if (reader && is_first && !ft_set_is_empty(reader))
            kept = reader;
    }
    for (size_t i = 0; rc == 0 && i < set->reader_count; i++) {
        struct ft_set_reader *entry = &set->readers[i];

        if (!entry->reader || entry->reader == kept || entry->reader->has_clock || ft_set_is_empty(entry->reader))
            continue;
        set->is_partial = true;
        rc = leave_out(set, entry, NULL);
    }
    return rc;
}

int ft_set_leave_out(struct ft_trace_set *set)
{
    size_t left = 0, end;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < set->reader_count; i = end)
        rc = take_one(set, i, &end);
    if (rc == 0)
        rc = leave_out_headless(set);
    if (rc == 0)
        rc = leave_out_unclocked(set);
    for (size_t i = 0; i < set->reader_count; i++)
        if (set->readers[i].reader)
            set->readers[left++] = set->readers[i];
    set->reader_count = left;
    return rc;
}
