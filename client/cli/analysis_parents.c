// SPDX-License-Identifier: MIT
#include "client/cli/analysis_parents.h"

#include <stdlib.h>

#include "client/cli/cli.h"

struct image {
    int64_t start_ns; /* since the epoch */
    uint32_t host, pid, process;
};

static int compare(const void *a_untyped, const void *b_untyped)
{
    const struct image *a = a_untyped, *b = b_untyped;
    if (a->host != b->host) {
        return a->host < b->host ? -1 : 1;
    }
    if (a->pid != b->pid) {
        return a->pid < b->pid ? -1 : 1;
    }
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static struct image image_of(const struct ft_trace_set *set, uint32_t p)
{
    const struct ft_trace_set_process *process = ft_trace_set_process(set, p);
    return (struct image){.start_ns = ft_trace_set_realtime_ns(set, process->reader, process->record->start_ns),
                          .host = process->host,
                          .pid = process->record->pid,
                          .process = p};
}

/* The last of the sorted images that is below the key; FT_TRACE_SET_NONE where it is of another pid. */
static uint32_t newest_before(const struct image *images, size_t count, const struct image *key)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&images[middle], key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_found = low > 0 && images[low - 1].host == key->host && images[low - 1].pid == key->pid;
    return is_found ? images[low - 1].process : FT_TRACE_SET_NONE;
}

/* The parent of one process, where `before` is the newest image of its own pid before it. */
static uint32_t parent_of(const struct ft_trace_set *set, const struct image *images, size_t count, uint32_t p)
{
    const struct ft_trace_set_process *process = ft_trace_set_process(set, p);
    struct image key = image_of(set, p);
    uint32_t before = newest_before(images, count, &key);
    bool was_replaced = before < count && ft_trace_set_process(set, before)->record->exit == FT_EXIT_EXEC;
    if (process->record->is_exec ? process->parent >= count : was_replaced) {
        return before;
    }
    key.pid = process->record->parent_pid;
    if (process->parent >= count && key.pid) {
        return newest_before(images, count, &key);
    }
    return process->parent < count ? process->parent : FT_TRACE_SET_NONE;
}

uint32_t *ft_parents_find(const struct ft_trace_set *set)
{
    size_t count = ft_trace_set_process_count(set);
    uint32_t *parents = ft_cli_alloc(count * sizeof(*parents));
    struct image *images = ft_cli_alloc(count * sizeof(*images));
    for (uint32_t p = 0; p < count; p++) {
        images[p] = image_of(set, p);
    }
    if (count > 1) {
        qsort(images, count, sizeof(*images), compare);
    }
    for (uint32_t p = 0; p < count; p++) {
        parents[p] = parent_of(set, images, count, p);
    }
    free(images);
    return parents;
}

bool ft_parents_is_exec(const struct ft_trace_set *set, const uint32_t *parents, uint32_t process)
{
    const struct ft_trace_set_process *own = ft_trace_set_process(set, process);
    if (own->record->is_exec || parents[process] == FT_TRACE_SET_NONE) {
        return own->record->is_exec;
    }
    const struct ft_trace_set_process *parent = ft_trace_set_process(set, parents[process]);
    return parent->host == own->host && parent->record->pid == own->record->pid;
}
