// SPDX-License-Identifier: MIT
#include "client/cli/event_groups_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/event_print.h"
#include "client/cli/group_keys_print.h"
#include "client/cli/report.h"
#include "client/cli/units.h"

enum { FIGURES = 3 };

static int64_t limited(uint64_t ns)
{
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static void put_group(struct ft_json *json, const struct ft_event_groups *groups, const struct ft_event_group *group)
{
    ft_json_begin_object(json);
    ft_group_keys_put(json, groups->keys, group->values);
    ft_json_member_uint(json, "count", group->count);
    ft_json_member_uint(json, "bytes", group->bytes);
    ft_json_member_seconds(json, "time", limited(group->time_ns));
    ft_json_end_object(json);
}

static void print_document(const struct ft_event_groups *groups, size_t count, const struct ft_event_left_out *left_out)
{
    struct ft_json json;
    ft_json_init(&json, stdout, true);
    ft_json_begin_object(&json);
    ft_group_keys_put_by(&json, groups->keys);
    ft_json_key(&json, "groups");
    ft_json_begin_array(&json);
    for (size_t g = 0; g < count; g++) {
        put_group(&json, groups, &groups->items[g]);
    }
    ft_json_end_array(&json);
    ft_report_json_unseen(&json, left_out->state);
    ft_json_member_uint(&json, "profiled", left_out->profiled);
    ft_report_json_state(&json, left_out->state);
    ft_json_end_object(&json);
    ft_json_end_line(&json);
    ft_json_flush(&json);
}

static void print_lines(const struct ft_event_groups *groups, size_t count)
{
    struct ft_json json;
    ft_json_init(&json, stdout, false);
    for (size_t g = 0; g < count; g++) {
        put_group(&json, groups, &groups->items[g]);
        ft_json_end_line(&json);
    }
    ft_json_flush(&json);
}

static void print_csv(const struct ft_event_groups *groups, size_t count)
{
    const struct ft_group_keys *keys = groups->keys;
    for (size_t k = 0; k < keys->count; k++) {
        ft_event_print_csv_text(stdout, FT_BYTES(keys->keys[k].name));
        fputc(',', stdout);
    }
    fputs("count,bytes,time\n", stdout);
    for (size_t g = 0; g < count; g++) {
        const struct ft_event_group *group = &groups->items[g];
        for (size_t k = 0; k < keys->count; k++) {
            ft_event_print_csv_text(stdout, ft_group_keys_text(keys, group->values[k]));
            fputc(',', stdout);
        }
        printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ".%09" PRIu64 "\n", group->count, group->bytes,
               group->time_ns / 1000000000, group->time_ns % 1000000000);
    }
}

static void print_text(const struct ft_event_groups *groups, size_t count)
{
    static const struct ft_column figures[FIGURES] = {
        {"COUNT", true, false}, {"BYTES", true, false}, {"TIME", true, false}};
    struct ft_column columns[FIGURES + FT_GROUP_KEYS_MAX];
    struct ft_screen screen;
    struct ft_table table;
    struct ft_unit_text text;
    ft_screen_init(&screen, stdout);
    memcpy(columns, figures, sizeof(figures));
    ft_group_keys_titles(groups->keys, columns + FIGURES);
    ft_table_init(&table, columns, FIGURES + groups->keys->count);
    for (size_t g = 0; g < count; g++) {
        const struct ft_event_group *group = &groups->items[g];
        ft_table_add(&table, ft_units_count(&text, group->count));
        ft_table_add(&table, group->bytes ? ft_units_bytes(&text, group->bytes) : "-");
        ft_table_add(&table, group->time_ns ? ft_units_time(&text, limited(group->time_ns)) : "-");
        ft_group_keys_add(&table, groups->keys, group->values);
    }
    ft_table_print(&table, &screen, 0);
    ft_table_fini(&table);
    if (groups->count > count) {
        printf("... and %s more\n", ft_units_count(&text, groups->count - count));
    }
}

void ft_event_groups_print(const struct ft_event_groups *groups, enum ft_event_form form, uint64_t top,
                           const struct ft_event_left_out *left_out)
{
    size_t count = groups->count < top ? groups->count : (size_t)top;
    switch (form) {
    case FT_EVENT_TEXT:
        print_text(groups, count);
        return;
    case FT_EVENT_LINES:
        print_lines(groups, count);
        return;
    case FT_EVENT_CSV:
        print_csv(groups, count);
        return;
    case FT_EVENT_DOCUMENT:
        print_document(groups, count, left_out);
        return;
    }
}
