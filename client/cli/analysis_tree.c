// SPDX-License-Identifier: MIT
/* Order of the process tree. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_parents.h"
#include "client/cli/cli.h"
#include "client/cli/processes.h"

struct node {
    int64_t start_ns;
    uint32_t process, parent;
    uint32_t first_child, next_brother; /* index + 1; 0: none */
    bool is_exec, is_placed;
};

static int earlier_first(const void *a_untyped, const void *b_untyped)
{
    const struct node *a = a_untyped, *b = b_untyped;
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return a->process < b->process ? -1 : a->process > b->process;
}

/* Nodes in order of start; `place` gives a process's node. */
static struct node *make_nodes(const struct ft_processes *processes, size_t count, uint32_t *place)
{
    const struct ft_trace_set *set = processes->set;
    const uint32_t *parents = processes->job.parents;
    struct node *nodes = ft_cli_alloc(count * sizeof(*nodes));
    for (uint32_t p = 0; p < count; p++) {
        const struct ft_trace_set_process *process = ft_trace_set_process(set, p);
        nodes[p] = (struct node){.start_ns = ft_trace_set_realtime_ns(set, process->reader, process->record->start_ns),
                                 .process = p,
                                 .is_exec = ft_parents_is_exec(set, parents, p),
                                 .parent = parents[p] < count ? parents[p] : FT_TRACE_SET_NONE};
    }
    if (count > 1) {
        qsort(nodes, count, sizeof(*nodes), earlier_first);
    }
    for (uint32_t n = 0; n < count; n++) {
        place[nodes[n].process] = n;
    }
    /* From the last one, so that each list of children is in order of start. */
    for (uint32_t n = (uint32_t)count; n-- > 0;) {
        if (nodes[n].parent != FT_TRACE_SET_NONE) {
            struct node *parent = &nodes[place[nodes[n].parent]];
            nodes[n].next_brother = parent->first_child;
            parent->first_child = n + 1;
        }
    }
    return nodes;
}

/*
 * Depth first from `root`; nothing is placed twice. `shown` is the depth that is shown at each depth: an exec'ed image
 * stands where the one before stood.
 */
static void place_tree(struct ft_processes *processes, struct node *nodes, uint32_t root, uint32_t *stack,
                       uint32_t *shown)
{
    uint32_t depth = 0;
    stack[0] = root + 1;
    for (;;) {
        uint32_t at = stack[depth];
        if (at == 0) {
            if (depth == 0) {
                return;
            }
            depth--;
            continue;
        }
        struct node *node = &nodes[at - 1];
        stack[depth] = depth == 0 ? 0 : node->next_brother;
        if (node->is_placed) {
            continue;
        }
        node->is_placed = true;
        processes->depths[processes->count] = depth == 0 ? 0 : shown[depth - 1] + !node->is_exec;
        shown[depth] = processes->depths[processes->count];
        processes->order[processes->count++] = node->process;
        if (node->first_child) {
            stack[++depth] = node->first_child;
        }
    }
}

void ft_processes_sort(struct ft_processes *processes)
{
    size_t count = ft_trace_set_process_count(processes->set);
    uint32_t *place = ft_cli_alloc(count * sizeof(*place)), *stack = ft_cli_alloc((count + 2) * sizeof(*stack));
    uint32_t *shown = ft_cli_alloc((count + 2) * sizeof(*shown));
    struct node *nodes = make_nodes(processes, count, place);
    processes->order = ft_cli_alloc(count * sizeof(*processes->order));
    processes->depths = ft_cli_alloc(count * sizeof(*processes->depths));
    processes->count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t n = 0; n < count; n++) {
            if (!nodes[n].is_placed && (pass == 1 || nodes[n].parent == FT_TRACE_SET_NONE)) {
                place_tree(processes, nodes, n, stack, shown);
            }
        }
    }
    free(nodes);
    free(place);
    free(stack);
    free(shown);
}
