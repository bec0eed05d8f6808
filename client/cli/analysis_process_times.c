// SPDX-License-Identifier: MIT
#include "client/cli/analysis_process_times.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

void ft_process_times_init(struct ft_process_times *times, size_t process_count, size_t host_count)
{
    times->totals = ft_cli_alloc(process_count * sizeof(*times->totals));
    times->places = ft_cli_alloc(process_count * sizeof(*times->places));
    times->hosts = ft_cli_alloc(host_count * sizeof(*times->hosts));
    times->host_count = host_count;
}

void ft_process_times_fini(struct ft_process_times *times)
{
    for (size_t h = 0; h < times->host_count; h++) {
        for (size_t i = 0; i < times->hosts[h].count; i++) {
            ft_sweep_fini(&times->hosts[h].pending[i].sweep);
        }
        free(times->hosts[h].pending);
        free(times->hosts[h].ends);
    }
    free(times->hosts);
    free(times->totals);
    free(times->places);
    memset(times, 0, sizeof(*times));
}

static struct ft_process_pending *find(const struct ft_process_times *times, const struct ft_host_times *host,
                                       uint32_t process)
{
    uint32_t place = times->places[process];
    return place < host->count && host->pending[place].process == process ? &host->pending[place] : NULL;
}

static struct ft_process_pending *find_or_make(struct ft_process_times *times, struct ft_host_times *host,
                                               uint32_t process)
{
    struct ft_process_pending *found = find(times, host, process);
    if (found) {
        return found;
    }
    if (host->count == host->space) {
        host->space = host->space ? host->space * 2 : 16;
        host->pending = ft_cli_realloc(host->pending, host->space, sizeof(*host->pending));
        host->ends = ft_cli_realloc(host->ends, host->space, sizeof(*host->ends));
    }
    times->places[process] = (uint32_t)host->count;
    found = &host->pending[host->count++];
    memset(found, 0, sizeof(*found));
    found->process = process;
    return found;
}

static void add_process(struct ft_process_times *times, struct ft_host_times *host, uint32_t process,
                        const struct ft_sweep_block *block, int64_t watermark)
{
    if (!find(times, host, process) && ft_sweep_block_start(block) >= watermark) {
        ft_sweep_totals_add(&times->totals[process], &block->totals);
    } else {
        struct ft_process_pending *pending = find_or_make(times, host, process);
        ft_sweep_add(&pending->sweep, block, watermark);
        host->ends[pending - host->pending] = INT64_MAX; /* the settling that follows finds it out */
    }
}

static void settle(struct ft_process_times *times, struct ft_host_times *host, int64_t watermark)
{
    size_t kept = 0;
    for (size_t i = 0; i < host->count; i++) {
        if (host->ends[i] <= watermark && kept == i) {
            kept++;
            continue;
        }
        struct ft_process_pending *pending = &host->pending[i];
        if (host->ends[i] > watermark) {
            ft_sweep_settle(&pending->sweep, watermark);
            host->ends[i] = ft_sweep_end(&pending->sweep);
        }
        if (!ft_sweep_is_empty(&pending->sweep)) {
            times->places[pending->process] = (uint32_t)kept;
            host->ends[kept] = host->ends[i];
            host->pending[kept++] = *pending;
            continue;
        }
        ft_sweep_totals_add(&times->totals[pending->process], &pending->sweep.totals);
        ft_sweep_fini(&pending->sweep);
    }
    host->count = kept;
}

void ft_process_times_add(struct ft_process_times *times, uint32_t host_index, const struct ft_busy *busy,
                          int64_t watermark)
{
    struct ft_host_times *host = &times->hosts[host_index];
    for (size_t i = 0; i < busy->process_count; i++) {
        struct ft_sweep_block block = ft_busy_process_block(busy, i);
        add_process(times, host, busy->processes[i].process, &block, watermark);
    }
    settle(times, host, watermark);
}
