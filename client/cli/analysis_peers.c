// SPDX-License-Identifier: MIT
#include "client/cli/analysis_peers.h"

#include <stdlib.h>

#include "client/cli/map.h"

static int by_program_and_time(const void *a_untyped, const void *b_untyped)
{
    const struct ft_peer *a = a_untyped, *b = b_untyped;
    if (a->program != b->program) {
        return a->program < b->program ? -1 : 1;
    }
    return a->io_ns != b->io_ns ? (a->io_ns < b->io_ns ? -1 : 1)
                                : (a->process > b->process) - (a->process < b->process);
}

void ft_peers_order(struct ft_peer *peers, size_t count, const struct ft_trace_set *set)
{
    struct ft_map programs;
    ft_map_init(&programs);
    for (size_t i = 0; i < count; i++) {
        struct ft_bytes exe = ft_trace_set_process(set, peers[i].process)->record->exe;
        uint32_t next = (uint32_t)programs.count;
        peers[i].program = ft_map_intern(&programs, exe.len ? exe.data : "", exe.len, next, NULL);
    }
    ft_map_fini(&programs);
    if (count > 1) {
        qsort(peers, count, sizeof(*peers), by_program_and_time);
    }
}

size_t ft_peers_of_first(const struct ft_peer *peers, size_t count)
{
    size_t end = 1;
    while (end < count && peers[end].program == peers[0].program) {
        end++;
    }
    return end;
}
