// SPDX-License-Identifier: MIT
#include "client/cli/analysis_stragglers.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/map.h"

struct one {
    uint32_t program, process;
    int64_t io_ns;
};

static int by_program(const void *a_untyped, const void *b_untyped)
{
    const struct one *a = a_untyped, *b = b_untyped;
    if (a->program != b->program) {
        return a->program < b->program ? -1 : 1;
    }
    return a->io_ns != b->io_ns ? (a->io_ns < b->io_ns ? -1 : 1)
                                : (a->process > b->process) - (a->process < b->process);
}

static int furthest_first(const void *a_untyped, const void *b_untyped)
{
    const struct ft_straggler *a = a_untyped, *b = b_untyped;
    int64_t x = a->io_ns - a->median_ns, y = b->io_ns - b->median_ns;
    return x != y ? (x < y ? 1 : -1) : (a->process > b->process) - (a->process < b->process);
}

/* Of processes that came as sums it is not known how long I/O went on. */
static struct one *order_processes(const struct ft_trace_set *set, const struct ft_scan *scan, size_t *count)
{
    struct one *all = ft_cli_alloc(scan->process_count * sizeof(*all));
    struct ft_map programs;
    *count = 0;
    ft_map_init(&programs);
    for (uint32_t p = 0; p < scan->process_count; p++) {
        struct ft_bytes exe = ft_trace_set_process(set, p)->record->exe;
        if (scan->processes[p].profiled > 0) {
            continue;
        }
        all[(*count)++] = (struct one){
            .program = ft_map_intern(&programs, exe.len ? exe.data : "", exe.len, (uint32_t)programs.count, NULL),
            .process = p,
            .io_ns = scan->times.totals[p].total_ns[FT_SWEEP_IO]};
    }
    ft_map_fini(&programs);
    if (*count > 1) {
        qsort(all, *count, sizeof(*all), by_program);
    }
    return all;
}

struct ft_straggler *ft_stragglers_find(const struct ft_trace_set *set, const struct ft_scan *scan, size_t *count)
{
    size_t known;
    struct one *all = order_processes(set, scan, &known);
    struct ft_straggler *found = ft_cli_alloc(scan->process_count * sizeof(*found));
    *count = 0;
    for (size_t begin = 0, end; begin < known; begin = end) {
        end = begin + 1;
        while (end < known && all[end].program == all[begin].program) {
            end++;
        }
        int64_t median_ns = all[begin + (end - begin - 1) / 2].io_ns;
        for (size_t i = begin; i < end && end - begin >= FT_STRAGGLERS_GROUP_MIN; i++) {
            if (all[i].io_ns > median_ns) {
                found[(*count)++] =
                    (struct ft_straggler){.process = all[i].process, .io_ns = all[i].io_ns, .median_ns = median_ns};
            }
        }
    }
    free(all);
    if (*count > 1) {
        qsort(found, *count, sizeof(*found), furthest_first);
    }
    return found;
}
