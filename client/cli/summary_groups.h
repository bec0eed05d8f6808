// SPDX-License-Identifier: MIT
/* The part of a summary that --by adds: the figures of each group, as text or JSON. */
#ifndef FT_CLI_SUMMARY_GROUPS_H
#define FT_CLI_SUMMARY_GROUPS_H

#include "client/cli/analysis_groups.h"
#include "client/cli/json.h"
#include "client/cli/table.h"

/* Members `by` and `groups`. */
void ft_summary_put_groups(struct ft_json *json, const struct ft_groups *groups);
void ft_summary_print_groups(const struct ft_screen *screen, const struct ft_groups *groups);

#endif
