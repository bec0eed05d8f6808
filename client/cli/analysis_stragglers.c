// SPDX-License-Identifier: MIT
#include "client/cli/analysis_stragglers.h"

#include <stdlib.h>

#include "client/cli/analysis_job.h"
#include "client/cli/analysis_peers.h"
#include "client/cli/cli.h"

static int furthest_first(const void *a_untyped, const void *b_untyped)
{
    const struct ft_straggler *a = a_untyped, *b = b_untyped;
    int64_t x = a->io_ns - a->median_ns, y = b->io_ns - b->median_ns;
    return x != y ? (x < y ? 1 : -1) : (a->process > b->process) - (a->process < b->process);
}

/* Of processes that came as sums it is not known how long I/O went on; events that are chosen are all there. */
static struct ft_peer *order_processes(const struct ft_trace_set *set, const struct ft_scan *scan, bool are_chosen,
                                       size_t *count)
{
    struct ft_peer *all = ft_cli_alloc(scan->process_count * sizeof(*all));
    *count = 0;
    for (uint32_t p = 0; p < scan->process_count; p++) {
        const struct ft_process_sum *sum = &scan->processes[p];
        if (sum->profiled == 0 && (are_chosen ? sum->events > 0 : ft_job_is_comparable(set, p))) {
            all[(*count)++] =
                (struct ft_peer){.process = p, .io_ns = (uint64_t)scan->times.totals[p].total_ns[FT_SWEEP_IO]};
        }
    }
    ft_peers_order(all, *count, set);
    return all;
}

static uint64_t noise_ns(const struct ft_trace_set *set)
{
    int64_t start_ns, end_ns, part_ns = 0;
    if (ft_trace_set_span(set, &start_ns, &end_ns)) {
        part_ns = (end_ns - start_ns) / FT_STRAGGLERS_WALL_PART;
    }
    return (uint64_t)(part_ns > FT_STRAGGLERS_MIN_NS ? part_ns : FT_STRAGGLERS_MIN_NS);
}

struct ft_straggler *ft_stragglers_find(const struct ft_trace_set *set, const struct ft_scan *scan, bool are_chosen,
                                        size_t *count)
{
    size_t known;
    struct ft_peer *all = order_processes(set, scan, are_chosen, &known);
    struct ft_straggler *found = ft_cli_alloc(scan->process_count * sizeof(*found));
    uint64_t least_ns = noise_ns(set);
    *count = 0;
    for (size_t begin = 0, of_program; begin < known; begin += of_program) {
        of_program = ft_peers_of_first(&all[begin], known - begin);
        uint64_t median_ns = all[begin + (of_program - 1) / 2].io_ns;
        for (size_t i = begin; i < begin + of_program && of_program >= FT_STRAGGLERS_GROUP_MIN; i++) {
            if (all[i].io_ns > median_ns && all[i].io_ns - median_ns >= least_ns) {
                found[(*count)++] = (struct ft_straggler){
                    .process = all[i].process, .io_ns = (int64_t)all[i].io_ns, .median_ns = (int64_t)median_ns};
            }
        }
    }
    free(all);
    if (*count > 1) {
        qsort(found, *count, sizeof(*found), furthest_first);
    }
    return found;
}
