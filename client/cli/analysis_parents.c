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
        const struct ft_trace_set_process *process = ft_trace_set_process(set, p);
        const struct ft_trace_process *record = process->record;
        struct image key = image_of(set, p);
        key.pid = record->is_exec ? record->pid : record->parent_pid;
        parents[p] = process->parent;
        if (parents[p] >= count) {
            parents[p] = key.pid ? newest_before(images, count, &key) : FT_TRACE_SET_NONE;
        }
    }
    free(images);
    return parents;
}
