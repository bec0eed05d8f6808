// SPDX-License-Identifier: MIT
/* The process tree of a set of traces, as `flowtap processes` prints it. */
#ifndef FT_CLI_PROCESSES_H
#define FT_CLI_PROCESSES_H

#include <stdio.h>

#include "client/cli/analysis_job.h"
#include "client/cli/analysis_scan.h"
#include "client/cli/analysis_state.h"
#include "client/cli/json.h"
#include "client/cli/table.h"

#define FT_PROCESSES_SORTS "tree|time|read|written|events|lived"
#define FT_PROCESSES_BY "exe|host|rank|job|user"

struct ft_processes_group {
    struct ft_bytes name; /* what they have in common; empty: unknown */
    int64_t rank;         /* by rank; -1: unknown */
    uint64_t processes, events;
    bool knows_io; /* of one of them at least */
    struct ft_process_sum sum;
};

struct ft_processes {
    const struct ft_trace_set *set;
    struct ft_scan scan; /* of all events */
    struct ft_job job;
    struct ft_state state;
    struct ft_process_sum *sums;   /* by process index: of all events, or of those that --where chose */
    struct ft_sweep_totals *times; /* by process index, of the same events */
    bool is_chosen;                /* the latter */
    bool *lived_on;                /* by process index: the file that its last record is in ended before it did */
    uint32_t *order;               /* process indices, parents before children, in order of start among brothers */
    uint32_t *depths;              /* of order[i] */
    size_t count, shown;           /* shown: the first of these */
    const char *by;                /* one of FT_PROCESSES_BY; NULL: each process */
    struct ft_processes_group *groups;
    size_t group_count;
};

/* Leaves those processes alone that have an event that was chosen. */
void ft_processes_choose(struct ft_processes *processes);
/* Largest first by one of FT_PROCESSES_SORTS; groups where there are some, else processes. "tree": as they are. */
void ft_processes_order_by(struct ft_processes *processes, const char *sort);
/* Fills groups. */
void ft_processes_group(struct ft_processes *processes, const char *by);
/* Whether anything that it did is known: not where all was dropped, nor calls on files where all of those were. */
bool ft_processes_knows_times(const struct ft_processes *processes, uint32_t process);
bool ft_processes_knows_io(const struct ft_processes *processes, uint32_t process);
/* Events of a process: those that were chosen, else all that it made. */
uint64_t ft_processes_events(const struct ft_processes *processes, uint32_t process);
void ft_processes_put_groups(struct ft_json *json, const struct ft_processes *processes);
void ft_processes_print_groups(const struct ft_processes *processes, const struct ft_screen *screen);

/* Fills order and depths. A circle of parents in a damaged file is cut. */
void ft_processes_sort(struct ft_processes *processes);

void ft_processes_print_json(const struct ft_processes *processes, FILE *out);
void ft_processes_print_text(const struct ft_processes *processes, FILE *out);

#endif
