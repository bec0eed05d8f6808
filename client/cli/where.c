// SPDX-License-Identifier: MIT
#include "client/cli/where.h"

#include <stdio.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/report.h"
#include "client/cli/units.h"

/* Bytes of the expression that a message shows on each side of the place. */
enum { SHOWN_BYTES = 60 };

static int parse(struct ft_report_where *where, const char *text)
{
    struct ft_filter_error error;
    memset(where, 0, sizeof(*where));
    if (!text) {
        return FT_STATUS_DONE;
    }
    where->filter = ft_filter_parse(text, &error);
    if (where->filter) {
        return FT_STATUS_DONE;
    }
    if (error.is_memory) {
        ft_cli_memory(NULL);
    }
    size_t from = error.at > SHOWN_BYTES ? error.at - SHOWN_BYTES : 0, left = strlen(text) - error.at;
    return ft_cli_fail_usage("--where, column %zu: %s, at the ^ in: %s%.*s^%.*s%s", error.at + 1, error.text,
                             from ? "..." : "", (int)(error.at - from), text + from,
                             (int)(left < SHOWN_BYTES ? left : SHOWN_BYTES), text + error.at,
                             left > SHOWN_BYTES ? "..." : "");
}

static void release(struct ft_report_where *where)
{
    ft_where_destroy(where->bound);
    ft_filter_destroy(where->filter);
    memset(where, 0, sizeof(*where));
}

/* Such a report is empty, and nothing else would say why. */
static void warn_of_unknown(const struct ft_filter *filter, const struct ft_trace_set *set)
{
    struct ft_filter_unknown unknown;
    for (size_t at = 0; ft_filter_next_unknown(filter, set, &at, &unknown);) {
        int bytes = unknown.word.len < SHOWN_BYTES ? (int)unknown.word.len : SHOWN_BYTES;
        ft_cli_warn("--where: the trace has no %s '%.*s'%s%s%s", unknown.field, bytes, unknown.word.data,
                    *unknown.near ? "; is " : "", unknown.near, *unknown.near ? " meant?" : "");
    }
}

int ft_report_where_open(struct ft_report_where *where, const char *text, const struct ft_strings *operands,
                         struct ft_trace_set **set)
{
    int status = parse(where, text);
    if (status == FT_STATUS_DONE) {
        status = ft_report_open(operands, set);
    }
    if (status != FT_STATUS_DONE) {
        release(where);
    } else if (where->filter) {
        warn_of_unknown(where->filter, *set);
        where->bound = ft_cli_memory(ft_where_create(where->filter, *set));
    }
    return status;
}

void ft_report_where_end(struct ft_report_where *where, const struct ft_trace_set *set, bool with_stats)
{
    struct ft_unit_text read, all, skipped;
    size_t count;
    ft_trace_set_blocks(set, &count);
    if (with_stats) {
        uint64_t passed_over = where->bound ? where->bound->stats->blocks - where->bound->stats->blocks_read : 0;
        fflush(stdout);
        fprintf(stderr, "%s: blocks: %s of %s read, %s skipped by their heads\n", ft_cli_name(),
                ft_units_count(&read, where->bound ? where->bound->stats->blocks_read : count),
                ft_units_count(&all, count), ft_units_count(&skipped, passed_over));
    }
    release(where);
}
