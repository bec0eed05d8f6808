// SPDX-License-Identifier: MIT
/* Parts of the summary for a person: how data moved, and which processes were slower than others. */
#include <stdlib.h>

#include "client/cli/analysis_stragglers.h"
#include "client/cli/summary.h"
#include "client/cli/units.h"

enum { LABEL_WIDTH = 13 };

static void print_side(const struct ft_screen *screen, const struct ft_summary *summary, bool is_write)
{
    const struct ft_sum *sum = is_write ? &summary->calls.write : &summary->calls.read;
    const struct ft_access_counts *counts = &summary->scan.access.counts;
    uint64_t placed = counts->sequential[is_write] + counts->random[is_write];
    uint64_t small = ft_summary_small(is_write ? summary->calls.write_sizes : summary->calls.read_sizes);
    int64_t busy_ns = summary->scan.sweep.totals.total_ns[is_write ? FT_SWEEP_WRITE : FT_SWEEP_READ];
    bool is_known = ft_summary_knows_times(summary);
    struct ft_unit_text share, text;
    if (sum->count == 0) {
        return;
    }
    ft_screen_print(screen, FT_STYLE_TITLE, "%-*s", LABEL_WIDTH, is_write ? "Writes" : "Reads");
    if (sum->bytes > 0 && busy_ns > 0 && is_known) {
        fprintf(screen->out, "%s while some were going on; ", ft_units_rate(&text, sum->bytes, busy_ns));
    }
    if (placed > 0 && is_known) {
        fprintf(screen->out, "%s sequential; ",
                ft_units_share(&share, (double)counts->sequential[is_write], (double)placed));
    }
    fprintf(screen->out, "%s moved under 4 KiB\n", ft_units_share(&share, (double)small, (double)sum->count));
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
