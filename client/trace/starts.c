// SPDX-License-Identifier: MIT
#include "client/trace/starts.h"

#include <errno.h>
#include <stdlib.h>

/* A pid is not another process's so soon. */
#define STARTING_NS INT64_C(60000000000)

struct ft_start {
    uint32_t host, pid, reader;
    int64_t start_ns;
};

static int compare(const void *a_untyped, const void *b_untyped)
{
    const struct ft_start *a = a_untyped, *b = b_untyped;
    if (a->host != b->host) {
        return a->host < b->host ? -1 : 1;
    }
    return (a->pid > b->pid) - (a->pid < b->pid);
}

int ft_starts_read(struct ft_starts *starts, const struct ft_trace_set *set)
{
    starts->count = ft_trace_set_process_count(set);
    starts->items = calloc(starts->count + 1, sizeof(*starts->items));
    if (!starts->items) {
        return -ENOMEM;
    }
    for (uint32_t p = 0; p < starts->count; p++) {
        const struct ft_trace_set_process *process = ft_trace_set_process(set, p);
        starts->items[p] = (struct ft_start){.host = ft_trace_set_reader_host(set, process->reader),
                                             .pid = process->record->pid,
                                             .reader = process->reader,
                                             .start_ns = process->record->start_ns};
    }
    if (starts->count > 1) {
        qsort(starts->items, starts->count, sizeof(*starts->items), compare);
    }
    return 0;
}

void ft_starts_fini(struct ft_starts *starts)
{
    free(starts->items);
}

/* The first of the pid. */
static size_t find(const struct ft_starts *starts, const struct ft_start *key)
{
    size_t from = 0, to = starts->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (compare(&starts->items[middle], key) < 0) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

/* Whether a process with this pid of this host began before `until_ns` (CLOCK_MONOTONIC) and is in a later file. */
static bool is_later(const struct ft_starts *starts, uint32_t host, uint32_t pid, int64_t until_ns, size_t reader)
{
    struct ft_start key = {.host = host, .pid = pid};
    for (size_t i = find(starts, &key); i < starts->count && compare(&starts->items[i], &key) == 0; i++) {
        if (starts->items[i].start_ns < until_ns && starts->items[i].reader > reader) {
            return true;
        }
    }
    return false;
}

bool ft_starts_is_gone_on_with(const struct ft_starts *starts, const struct ft_trace_set *set, size_t reader,
                               const struct ft_trace_gap *gap)
{
    uint32_t process = ft_trace_set_process_of(set, reader, gap->process);
    if (gap->kind != FT_GAP_DAEMON_STOPPED) {
        return false;
    }
    if (process != FT_TRACE_SET_NONE) {
        return ft_trace_set_process(set, process)->reader > reader;
    }
    /* It was only starting, and attached to the next daemon: not long after. */
    return gap->pid != 0 &&
           is_later(starts, ft_trace_set_reader_host(set, reader), gap->pid, gap->when_ns + STARTING_NS, reader);
}
