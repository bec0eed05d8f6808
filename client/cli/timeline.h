// SPDX-License-Identifier: MIT
/* The timeline as text or JSON. */
#ifndef FT_CLI_TIMELINE_H
#define FT_CLI_TIMELINE_H

#include <stdio.h>

#include "client/cli/analysis_state.h"
#include "client/cli/analysis_timeline.h"
#include "client/cli/table.h"

/* What a plot is drawn with. */
struct ft_timeline_look {
    size_t columns; /* of the plot itself */
    bool is_utf8;   /* whether blocks can be drawn; else plain ASCII */
    const char *title;
};

/* Of this terminal and environment (LC_ALL, LC_CTYPE, LANG). */
struct ft_timeline_look ft_timeline_look(const struct ft_screen *screen);

void ft_timeline_print_text(const struct ft_timeline *timeline, const struct ft_screen *screen,
                            const struct ft_timeline_look *look);
void ft_timeline_print_json(const struct ft_timeline *timeline, uint64_t left_out, struct ft_state state, FILE *out);

#endif
