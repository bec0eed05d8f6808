// SPDX-License-Identifier: MIT
/* The forms of `flowtap events`, and groups of events in them. */
#ifndef FT_CLI_EVENT_GROUPS_PRINT_H
#define FT_CLI_EVENT_GROUPS_PRINT_H

#include "client/cli/analysis_state.h"
#include "client/cli/event_groups.h"

enum ft_event_form { FT_EVENT_TEXT, FT_EVENT_LINES, FT_EVENT_CSV, FT_EVENT_DOCUMENT };

/* What of the trace is in no group. */
struct ft_event_left_out {
    uint64_t profiled;
    struct ft_state state;
};

/* The first `top` of them to stdout. Only FT_EVENT_DOCUMENT says what is left out. */
void ft_event_groups_print(const struct ft_event_groups *groups, enum ft_event_form form, uint64_t top,
                           const struct ft_event_left_out *left_out);

#endif
