// SPDX-License-Identifier: MIT
/* The summary as text or JSON; `flowtap summary` prints it, and `flowtap run` at the end of a command. */
#ifndef FT_CLI_SUMMARY_H
#define FT_CLI_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include "client/cli/analysis_calls.h"
#include "client/cli/analysis_job.h"
#include "client/cli/analysis_scan.h"
#include "client/cli/options.h"

struct ft_summary {
    const struct ft_trace_set *set;
    struct ft_calls calls; /* sorted */
    struct ft_scan scan;
    struct ft_job job;
    bool is_partial;
};

struct ft_summary_look {
    bool as_json;
    size_t top;            /* rows of each table */
    const char *title;     /* what the first line names; NULL: the paths */
    const char *why_empty; /* why there is no event, where the caller knows; else NULL */
    const char *doctor;    /* the command that says more of it; NULL: `flowtap doctor --trace PATH` */
};

/* Reads the paths and prints. FT_STATUS_DONE, or FT_STATUS_FAILED after a message. */
int ft_summary_show(const struct ft_strings *paths, FILE *out, const struct ft_summary_look *look);

/* Parts of it. */
void ft_summary_print_json(const struct ft_summary *summary, FILE *out);
void ft_summary_print_text(const struct ft_summary *summary, FILE *out, const struct ft_summary_look *look);

#endif
