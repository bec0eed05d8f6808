// SPDX-License-Identifier: MIT
/* The options --where and --stats of the reporting commands. */
#ifndef FT_CLI_WHERE_H
#define FT_CLI_WHERE_H

#include "client/cli/options.h"
#include "client/trace/filter.h"

#define FT_OPTION_WHERE(values, member)                                                                          \
    {FT_OPTION_STRING,         'w', "where", "EXPRESSION", "only events of which this holds, such as 'dur>1ms'", \
     offsetof(values, member), NULL}
#define FT_OPTION_STATS(values, member)                                                                              \
    {FT_OPTION_FLAG,           0,   "stats", NULL, "say on stderr how many blocks of the trace --where passed over", \
     offsetof(values, member), NULL}

struct ft_report_where {
    struct ft_filter *filter; /* NULL: no --where */
    struct ft_where *bound;   /* NULL: not bound */
};

/*
 * Takes the option's text, which may be NULL, opens the traces, binds one to the other. FT_STATUS_DONE, or another
 * status after a line on stderr: of a text that cannot be understood it points at the place.
 */
int ft_report_where_open(struct ft_report_where *where, const char *text, const struct ft_strings *operands,
                         struct ft_trace_set **set);
/* Prints the line of --stats where that was given, and releases. */
void ft_report_where_end(struct ft_report_where *where, const struct ft_trace_set *set, bool with_stats);

#endif
