// SPDX-License-Identifier: MIT
/* Choosing, ordering and grouping the rows of `flowtap processes`. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/map.h"
#include "client/cli/processes.h"
#include "client/cli/report.h"
#include "client/cli/units.h"

uint64_t ft_processes_events(const struct ft_processes *processes, uint32_t process)
{
    return processes->is_chosen ? processes->sums[process].events
                                : ft_job_emitted(processes->set, &processes->scan, process);
}

/* What all that was dropped was, is known of calls, not of what each was on. */
bool ft_processes_knows_times(const struct ft_processes *processes, uint32_t process)
{
    const struct ft_process_sum *sum = &processes->scan.processes[process];
    return sum->events > 0 || sum->profiled > 0 ||
           ft_job_dropped(ft_trace_set_process(processes->set, process)->record) == 0;
}

bool ft_processes_knows_io(const struct ft_processes *processes, uint32_t process)
{
    const struct ft_process_sum *sum = &processes->scan.processes[process];
    bool is_any_stored = sum->profiled > 0 || sum->io_time_ns > 0 || sum->read_bytes > 0 || sum->written_bytes > 0;
    return processes->is_chosen || is_any_stored ||
           (ft_processes_knows_times(processes, process) && !ft_job_drops_io(processes->set, process));
}

void ft_processes_choose(struct ft_processes *processes)
{
    size_t kept = 0;
    for (size_t i = 0; i < processes->count; i++) {
        if (processes->sums[processes->order[i]].events > 0) {
            processes->depths[kept] = processes->depths[i];
            processes->order[kept++] = processes->order[i];
        }
    }
    processes->count = kept;
}

/* What qsort's comparisons go by. */
static struct {
    const struct ft_processes *processes;
    char sort;
} compared;

static uint64_t lived_ns(const struct ft_trace_process *record)
{
    return record->end_ns > record->start_ns ? (uint64_t)(record->end_ns - record->start_ns) : 0;
}

static uint64_t key_of(const struct ft_process_sum *sum, uint64_t events)
{
    switch (compared.sort) {
    case 'r':
        return sum->read_bytes;
    case 'w':
        return sum->written_bytes;
    case 'e':
        return events;
    default:
        return sum->io_time_ns;
    }
}

static uint64_t key_of_process(uint32_t p)
{
    const struct ft_processes *processes = compared.processes;
    return compared.sort == 'l' ? lived_ns(ft_trace_set_process(processes->set, p)->record)
                                : key_of(&processes->sums[p], ft_processes_events(processes, p));
}

static int compare_processes(const void *a_untyped, const void *b_untyped)
{
    uint32_t a = *(const uint32_t *)a_untyped, b = *(const uint32_t *)b_untyped;
    uint64_t x = key_of_process(a), y = key_of_process(b);
    return x != y ? (x < y ? 1 : -1) : a < b ? -1 : a > b;
}

static int compare_groups(const void *a_untyped, const void *b_untyped)
{
    const struct ft_processes_group *a = a_untyped, *b = b_untyped;
    uint64_t x = key_of(&a->sum, a->events), y = key_of(&b->sum, b->events);
    if (x != y) {
        return x < y ? 1 : -1;
    }
    size_t shorter = a->name.len < b->name.len ? a->name.len : b->name.len;
    int order = shorter ? memcmp(a->name.data, b->name.data, shorter) : 0;
    return order                        ? order
           : a->name.len != b->name.len ? (a->name.len < b->name.len ? -1 : 1)
           : a->rank < b->rank          ? -1
                                        : 1;
}

void ft_processes_order_by(struct ft_processes *processes, const char *sort)
{
    compared.processes = processes;
    compared.sort = strcmp(sort, "tree") == 0 ? 'i' : sort[0];
    if (processes->by && processes->group_count > 1) {
        qsort(processes->groups, processes->group_count, sizeof(*processes->groups), compare_groups);
    } else if (!processes->by && compared.sort != 'i' && processes->count > 1) {
        qsort(processes->order, processes->count, sizeof(*processes->order), compare_processes);
        memset(processes->depths, 0, processes->count * sizeof(*processes->depths));
    }
}

static struct ft_bytes name_of(const struct ft_processes *processes, uint32_t p)
{
    const struct ft_trace_set_process *process = ft_trace_set_process(processes->set, p);
    switch (processes->by[0]) {
    case 'e':
        return process->record->exe;
    case 'h':
        return ft_trace_set_host_name(processes->set, process->host);
    case 'j':
        return process->record->job.id;
    case 'u':
        return process->record->user;
    default:
        return FT_BYTES("");
    }
}

void ft_processes_group(struct ft_processes *processes, const char *by)
{
    struct ft_map groups;
    processes->by = by;
    processes->groups = ft_cli_alloc(processes->count * sizeof(*processes->groups));
    ft_map_init(&groups);
    for (size_t i = 0; i < processes->count; i++) {
        uint32_t p = processes->order[i];
        struct ft_bytes name = name_of(processes, p);
        int64_t rank = by[0] == 'r' ? ft_trace_set_process(processes->set, p)->record->job.rank : -1;
        bool is_new;
        uint32_t at = by[0] == 'r'
                          ? ft_map_intern(&groups, &rank, sizeof(rank), (uint32_t)processes->group_count, &is_new)
                          : ft_map_intern(&groups, name.len ? name.data : "", name.len,
                                          (uint32_t)processes->group_count, &is_new);
        struct ft_processes_group *group = &processes->groups[at];
        if (is_new) {
            *group = (struct ft_processes_group){.name = name, .rank = rank};
            processes->group_count++;
        }
        const struct ft_process_sum *sum = &processes->sums[p];
        group->processes++;
        group->knows_io |= ft_processes_knows_io(processes, p);
        group->events += ft_processes_events(processes, p);
        group->sum.io_time_ns += sum->io_time_ns;
        group->sum.read_bytes += sum->read_bytes;
        group->sum.written_bytes += sum->written_bytes;
    }
    ft_map_fini(&groups);
}

void ft_processes_put_groups(struct ft_json *json, const struct ft_processes *processes)
{
    for (size_t i = 0; i < processes->shown; i++) {
        const struct ft_processes_group *group = &processes->groups[i];
        uint64_t io_ns = group->sum.io_time_ns;
        ft_json_begin_object(json);
        if (processes->by[0] == 'r' && group->rank >= 0) {
            ft_json_member_int(json, "rank", group->rank);
        } else {
            ft_report_json_bytes(json, processes->by, group->name);
        }
        ft_json_member_uint(json, "processes", group->processes);
        ft_json_member_uint(json, processes->is_chosen ? "chosen" : "events", group->events);
        ft_json_member_seconds_if(json, "io_time", group->knows_io, io_ns > INT64_MAX ? INT64_MAX : (int64_t)io_ns);
        ft_json_member_uint_if(json, "read_bytes", group->knows_io, group->sum.read_bytes);
        ft_json_member_uint_if(json, "written_bytes", group->knows_io, group->sum.written_bytes);
        ft_json_end_object(json);
    }
}

static void add_row(struct ft_table *table, const struct ft_processes *processes,
                    const struct ft_processes_group *group)
{
    struct ft_unit_text text;
    char rank[24];
    uint64_t io_ns = group->sum.io_time_ns;
    ft_table_add(table, ft_units_count(&text, group->processes));
    ft_table_add(table, ft_units_count(&text, group->events));
    ft_table_add(table, io_ns ? ft_units_time(&text, io_ns > INT64_MAX ? INT64_MAX : (int64_t)io_ns) : "-");
    ft_table_add(table, group->sum.read_bytes ? ft_units_bytes(&text, group->sum.read_bytes) : "-");
    ft_table_add(table, group->sum.written_bytes ? ft_units_bytes(&text, group->sum.written_bytes) : "-");
    if (processes->by[0] == 'r' && group->rank >= 0) {
        snprintf(rank, sizeof(rank), "%lld", (long long)group->rank);
        ft_table_add(table, rank);
    } else if (group->name.len) {
        ft_table_add_bytes(table, group->name.data, group->name.len);
    } else {
        ft_table_add(table, "(none)");
    }
}

void ft_processes_print_groups(const struct ft_processes *processes, const struct ft_screen *screen)
{
    static const struct ft_column columns[] = {{"PROCESSES", true, false}, {"EVENTS", true, false},
                                               {"I/O TIME", true, false},  {"READ", true, false},
                                               {"WRITTEN", true, false},   {"GROUP", false, true}};
    struct ft_table table;
    struct ft_unit_text more;
    ft_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < processes->shown; i++) {
        add_row(&table, processes, &processes->groups[i]);
    }
    ft_table_print(&table, screen, 0);
    ft_table_fini(&table);
    if (processes->shown < processes->group_count) {
        fprintf(screen->out, "... and %s more (--top 0 shows all)\n",
                ft_units_count(&more, processes->group_count - processes->shown));
    }
}
