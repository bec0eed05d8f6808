// SPDX-License-Identifier: MIT
/* The process tree of a set of traces, as `flowtap processes` prints it. */
#ifndef FT_CLI_PROCESSES_H
#define FT_CLI_PROCESSES_H

#include <stdio.h>

#include "client/cli/analysis_job.h"
#include "client/cli/analysis_scan.h"

struct ft_processes {
    const struct ft_trace_set *set;
    struct ft_scan scan;
    struct ft_job job;
    bool is_partial;
    uint32_t *order;  /* process indices, parents before children, in order of start among brothers */
    uint32_t *depths; /* of order[i] */
    size_t count;
};

/* Fills order and depths. A circle of parents in a damaged file is cut. */
void ft_processes_sort(struct ft_processes *processes);

void ft_processes_print_json(const struct ft_processes *processes, FILE *out);
void ft_processes_print_text(const struct ft_processes *processes, FILE *out);

#endif
