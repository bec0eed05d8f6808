// SPDX-License-Identifier: MIT
/* The forms of `flowtap events`, and groups of events in them. */
#ifndef FT_CLI_EVENT_GROUPS_PRINT_H
#define FT_CLI_EVENT_GROUPS_PRINT_H

#include "client/cli/event_groups.h"

enum ft_event_form { FT_EVENT_TEXT, FT_EVENT_LINES, FT_EVENT_CSV, FT_EVENT_DOCUMENT };

/* The first `top` of them to stdout. */
void ft_event_groups_print(const struct ft_event_groups *groups, enum ft_event_form form, uint64_t top,
                           bool is_partial);

#endif
