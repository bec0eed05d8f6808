// SPDX-License-Identifier: MIT
#include "client/cli/summary_groups.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/group_keys_print.h"
#include "client/cli/units.h"

enum { TEXT_ROWS = 100, FIGURES = 9 };

static int64_t limited(uint64_t ns)
{
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static void put_way(struct ft_json *json, const char *key, const struct ft_sum *sum)
{
    ft_json_key(json, key);
    ft_json_begin_object(json);
    ft_json_member_uint(json, "count", sum->count);
    ft_json_member_uint(json, "bytes", sum->bytes);
    ft_json_member_seconds(json, "time", limited(sum->time_ns));
    ft_json_end_object(json);
}

static void put_times(struct ft_json *json, const struct ft_group *group)
{
    const struct ft_sweep_totals *totals = &group->sweep.totals;
    const int64_t *total = totals->total_ns;
    ft_json_member_seconds(json, "start", group->sums.first_ns);
    ft_json_member_seconds(json, "end", group->sums.last_ns);
    ft_json_member_seconds(json, "time", limited(group->sums.time_ns));
    ft_json_member_seconds(json, "busy_time", group->busy.totals.total_ns[FT_SWEEP_IO]);
    ft_json_member_seconds(json, "exclusive_time", group->owned_ns);
    ft_json_member_seconds(json, "io_time", total[FT_SWEEP_IO]);
    ft_json_member_seconds(json, "app_time", total[FT_SWEEP_APP]);
    ft_json_member_seconds(json, "compute_time", total[FT_SWEEP_COMPUTE]);
    ft_json_member_seconds(json, "app_io_time", total[FT_SWEEP_APP_IO]);
    ft_json_member_seconds(json, "unoverlapped_io_time", total[FT_SWEEP_IO] - totals->io_and_compute_ns);
    ft_json_member_seconds(json, "unoverlapped_compute_time", total[FT_SWEEP_COMPUTE] - totals->io_and_compute_ns);
    ft_json_member_seconds(json, "unoverlapped_app_io_time", total[FT_SWEEP_APP_IO] - totals->app_io_and_compute_ns);
}

static void put_group(struct ft_json *json, const struct ft_group_keys *keys, const struct ft_group *group)
{
    static const char *const ways[FT_GROUP_WAYS] = {"read", "write", "metadata", "other_io"};
    ft_json_begin_object(json);
    ft_group_keys_put(json, keys, group->values);
    ft_json_member_uint(json, "events", group->sums.events);
    ft_json_member_uint(json, "calls", group->sums.calls);
    ft_json_member_uint(json, "spans", group->sums.spans);
    for (int way = 0; way < FT_GROUP_WAYS; way++) {
        put_way(json, ways[way], &group->sums.ways[way]);
    }
    put_times(json, group);
    ft_json_end_object(json);
}

void ft_summary_put_groups(struct ft_json *json, const struct ft_groups *groups)
{
    ft_group_keys_put_by(json, groups->keys);
    ft_json_key(json, "groups");
    ft_json_begin_array(json);
    for (size_t g = 0; g < groups->count; g++) {
        put_group(json, groups->keys, &groups->items[g]);
    }
    ft_json_end_array(json);
}

static void add_time(struct ft_table *table, int64_t ns)
{
    struct ft_unit_text text;
    ft_table_add(table, ns > 0 ? ft_units_time(&text, ns) : "-");
}

static void add_row(struct ft_table *table, const struct ft_group_keys *keys, const struct ft_group *group)
{
    const struct ft_sweep_totals *totals = &group->sweep.totals;
    struct ft_unit_text text;
    uint64_t read = group->sums.ways[FT_GROUP_READS].bytes, written = group->sums.ways[FT_GROUP_WRITES].bytes;
    ft_table_add(table, ft_units_count(&text, group->sums.events));
    ft_table_add(table, read ? ft_units_bytes(&text, read) : "-");
    ft_table_add(table, written ? ft_units_bytes(&text, written) : "-");
    add_time(table, limited(group->sums.time_ns));
    add_time(table, group->busy.totals.total_ns[FT_SWEEP_IO]);
    add_time(table, group->owned_ns);
    add_time(table, totals->total_ns[FT_SWEEP_IO]);
    add_time(table, totals->total_ns[FT_SWEEP_COMPUTE]);
    add_time(table, totals->total_ns[FT_SWEEP_IO] - totals->io_and_compute_ns);
    ft_group_keys_add(table, keys, group->values);
}

void ft_summary_print_groups(const struct ft_screen *screen, const struct ft_groups *groups)
{
    static const struct ft_column figures[FIGURES] = {
        {"EVENTS", true, false},   {"READ", true, false},    {"WRITTEN", true, false},
        {"TIME", true, false},     {"BUSY", true, false},    {"EXCLUSIVE", true, false},
        {"I/O TIME", true, false}, {"COMPUTE", true, false}, {"I/O ALONE", true, false}};
    struct ft_column columns[FIGURES + FT_GROUP_KEYS_MAX];
    const struct ft_group_keys *keys = groups->keys;
    struct ft_table table;
    struct ft_unit_text count;
    memcpy(columns, figures, sizeof(figures));
    ft_group_keys_titles(keys, columns + FIGURES);
    ft_table_init(&table, columns, FIGURES + keys->count);
    for (size_t g = 0; g < groups->count && g < TEXT_ROWS; g++) {
        add_row(&table, keys, &groups->items[g]);
    }
    ft_screen_print(screen, FT_STYLE_TITLE, "\nGroups");
    fprintf(screen->out, " (%s)\n", ft_units_count(&count, groups->count));
    ft_table_print(&table, screen, 2);
    ft_table_fini(&table);
    if (groups->count > TEXT_ROWS) {
        fprintf(screen->out, "  ... and %s more (--json has all)\n", ft_units_count(&count, groups->count - TEXT_ROWS));
    }
}
