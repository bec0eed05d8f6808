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

// No two blocks that are not copies have the same times and sizes.
static int compare_blocks(const struct ft_trace_block *a, const struct ft_trace_block *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    if (a->rows != b->rows)
        return a->rows < b->rows ? -1 : 1;
    if (a->head_len != b->head_len)
        return a->head_len < b->head_len ? -1 : 1;
    return (a->data_len > b->data_len) - (a->data_len < b->data_len);
}

static int compare_firsts(const void *a, const void *b)
{
    return compare_blocks(a, b);
}

// A file that has the first block of files without a header.
struct holder {
    uint32_t first, reader;
};

struct headless {
    struct ft_trace_block *firsts; // in order, each once; copies, since files are closed meanwhile
    size_t first_count;
    struct holder *holders; // by first, then as the set's readers
    size_t count, cap;
    size_t *from; // of each first: the holders before are closed
};

static int compare_holders(const void *a_untyped, const void *b_untyped)
{
    const struct holder *a = a_untyped, *b = b_untyped;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->reader > b->reader) - (a->reader < b->reader);
}

static const struct ft_trace_block *first_of(const struct ft_set_reader *entry)
{
    return is_headless(entry->reader) && entry->reader->blocks.count > 0 ? entry->reader->blocks.items : NULL;
}

static bool find_first(const struct headless *all, const struct ft_trace_block *block, uint32_t *first)
{
    const struct ft_trace_block *found =
        bsearch(block, all->firsts, all->first_count, sizeof(*all->firsts), compare_firsts);

    if (found)
        *first = (uint32_t)(found - all->firsts);
    return found != NULL;
}

static int find_firsts(struct headless *all, const struct ft_trace_set *set)
{
    size_t count = 0;

    all->firsts = malloc((set->reader_count + 1) * sizeof(*all->firsts));
    if (!all->firsts)
        return -ENOMEM;
    for (size_t i = 0; i < set->reader_count; i++)
        if (first_of(&set->readers[i]))
            all->firsts[count++] = *first_of(&set->readers[i]);
    if (count > 1)
        qsort(all->firsts, count, sizeof(*all->firsts), compare_firsts);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || compare_blocks(&all->firsts[i], &all->firsts[i - 1]) != 0)
            all->firsts[all->first_count++] = all->firsts[i];
    return 0;
}

static int find_holders(struct headless *all, const struct ft_trace_set *set)
{
    for (uint32_t k = 0; all->first_count > 0 && k < set->reader_count; k++) {
        const struct ft_trace_reader *reader = set->readers[k].reader;

        for (size_t i = 0; reader && i < reader->blocks.count; i++) {
            uint32_t first;

            if (!find_first(all, &reader->blocks.items[i], &first))
                continue;
            if (ft_array_grow(&all->holders, &all->cap, all->count, sizeof(*all->holders)))
                return -ENOMEM;
            all->holders[all->count++] = (struct holder){first, k};
        }
    }
    if (all->count > 1)
        qsort(all->holders, all->count, sizeof(*all->holders), compare_holders);
    all->from = calloc(all->first_count + 1, sizeof(*all->from));
    for (size_t i = all->count; all->from && i-- > 0;)
        all->from[all->holders[i].first] = i;
    return all->from ? 0 : -ENOMEM;
}

// Of this file and of each other that has its first block one stays. So all that were looked at before are closed.
static int take_headless(struct headless *all, struct ft_trace_set *set, uint32_t i)
{
    struct ft_set_reader *headless = &set->readers[i];
    uint32_t first;
    size_t at;
    int rc = 0;

    if (!first_of(headless) || !find_first(all, first_of(headless), &first))
        return 0;
    for (at = all->from[first]; rc == 0 && at < all->count && all->holders[at].first == first; at++) {
        struct ft_set_reader *other = &set->readers[all->holders[at].reader];

        if (other == headless || !other->reader)
            continue;
        // What has no clock would be left out itself.
        if (headless->reader->has_clock && is_better(headless->reader, other->reader)) {
            rc = leave_out(set, other, headless->reader);
        } else {
            rc = leave_out(set, headless, other->reader);
            break;
        }
    }
    all->from[first] = at;
    return rc;
}

static int leave_out_headless(struct ft_trace_set *set)
{
    struct headless all = {0};
    int rc = find_firsts(&all, set);

    if (rc == 0 && all.first_count > 0)
        rc = find_holders(&all, set);
    for (uint32_t i = 0; rc == 0 && all.first_count > 0 && i < set->reader_count; i++)
        rc = take_headless(&all, set, i);
    free(all.firsts);
    free(all.holders);
    free(all.from);
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
