// SPDX-License-Identifier: MIT
/* Parts of the summary for a person: how data moved, and which processes were slower than others. */
#include <stdlib.h>

#include "client/cli/analysis_stragglers.h"
#include "client/cli/summary.h"
#include "client/cli/units.h"

enum { LABEL_WIDTH = 13 };

static void print_side(const struct ft_screen *screen, const struct ft_summary *summary, bool is_write)
{
    const struct ft_access_counts *counts = &summary->scan.access.counts;
    uint64_t placed = counts->sequential[is_write] + counts->random[is_write];
    struct ft_summary_side side;
    struct ft_unit_text share, text;
    const char *between = "";
    ft_summary_side(summary, is_write, &side);
    bool has_rate = side.knows_times && side.timed_bytes > 0 && side.busy_ns > 0;
    bool has_order = side.knows_times && placed > 0;
    if (!has_rate && !has_order && side.sized == 0) {
        return;
    }
    ft_screen_print(screen, FT_STYLE_TITLE, "%-*s", LABEL_WIDTH, is_write ? "Writes" : "Reads");
    if (has_rate) {
        fprintf(screen->out, "%s while some were going on", ft_units_rate(&text, side.timed_bytes, side.busy_ns));
        between = "; ";
    }
    if (has_order) {
        fprintf(screen->out, "%s%s sequential", between,
                ft_units_share(&share, (double)counts->sequential[is_write], (double)placed));
        between = "; ";
    }
    if (side.sized > 0) {
        fprintf(screen->out, "%s%s moved under 4 KiB", between,
                ft_units_share(&share, (double)side.small, (double)side.sized));
    }
    if (side.dropped > 0) {
        fprintf(screen->out, " (of %s that are stored)", ft_units_count(&text, side.stored.count));
    }
    fputc('\n', screen->out);
}

void ft_summary_print_access(const struct ft_screen *screen, const struct ft_summary *summary)
{
    print_side(screen, summary, false);
    print_side(screen, summary, true);
}

static void add_time(struct ft_table *table, int64_t ns)
{
    struct ft_unit_text text;
    ft_table_add(table, ft_units_time(&text, ns));
}

void ft_summary_print_stragglers(const struct ft_screen *screen, const struct ft_summary *summary, size_t top)
{
    static const struct ft_column columns[] = {
        {"I/O TIME", true, false}, {"MEDIAN", true, false}, {"PID", true, false}, {"PROGRAM", false, true}};
    size_t count;
    struct ft_straggler *found = ft_stragglers_find(summary->set, &summary->scan, summary->where != NULL, &count);
    struct ft_table table;
    ft_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count && i < top; i++) {
        const struct ft_trace_process *record = ft_trace_set_process(summary->set, found[i].process)->record;
        char pid[16];
        snprintf(pid, sizeof(pid), "%u", record->pid);
        add_time(&table, found[i].io_ns);
        add_time(&table, found[i].median_ns);
        ft_table_add(&table, pid);
        ft_table_add_bytes(&table, record->exe.len ? record->exe.data : "-", record->exe.len ? record->exe.len : 1);
    }
    if (count > 0 && top > 0) {
        ft_screen_print(screen, FT_STYLE_TITLE, "\nSlowest processes");
        fprintf(screen->out, " (beside others of their program)\n");
        ft_table_print(&table, screen, 2);
    }
    ft_table_fini(&table);
    free(found);
}
