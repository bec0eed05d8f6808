// SPDX-License-Identifier: MIT
/* The categories of a trace side by side: calls of the library's levels, and spans as applications name them. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/summary.h"
#include "client/cli/units.h"

struct category {
    const char *name;
    uint64_t count, time_ns;
    bool has_spans;
};

static int compare(const void *a_untyped, const void *b_untyped)
{
    const struct category *a = a_untyped, *b = b_untyped;
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? 1 : -1;
    }
    return strcmp(a->name, b->name);
}

/* Longest time first. A new array. */
static struct category *find(const struct ft_calls *calls, size_t *count)
{
    struct category *found = ft_cli_alloc(calls->count * sizeof(*found));
    struct ft_map index;
    *count = 0;
    ft_map_init(&index);
    for (size_t i = 0; i < calls->count; i++) {
        const struct ft_call_sum *call = &calls->items[i];
        bool is_new;
        uint32_t at = ft_map_intern(&index, call->category, strlen(call->category), (uint32_t)*count, &is_new);
        if (is_new) {
            found[(*count)++].name = call->category;
        }
        found[at].count += call->sum.count;
        found[at].time_ns += call->sum.time_ns;
        found[at].has_spans |= call->is_span;
    }
    ft_map_fini(&index);
    if (*count > 1) {
        qsort(found, *count, sizeof(*found), compare);
    }
    return found;
}

static int64_t limited(uint64_t ns)
{
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

void ft_summary_put_categories(struct ft_json *json, const struct ft_summary *summary)
{
    size_t count;
    struct category *found = find(&summary->calls, &count);
    ft_json_key(json, "categories");
    ft_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        ft_json_begin_object(json);
        ft_json_member_string(json, "category", found[i].name);
        ft_json_member_uint(json, "count", found[i].count);
        ft_json_member_seconds(json, "time", limited(found[i].time_ns));
        ft_json_end_object(json);
    }
    ft_json_end_array(json);
    free(found);
}

void ft_summary_print_categories(const struct ft_screen *screen, const struct ft_summary *summary)
{
    static const struct ft_column columns[] = {
        {"TIME", true, false}, {"EVENTS", true, false}, {"CATEGORY", false, false}};
    struct ft_unit_text text;
    struct ft_table table;
    size_t count;
    bool has_spans = false;
    struct category *found = find(&summary->calls, &count);
    ft_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++) {
        has_spans |= found[i].has_spans;
        ft_table_add(&table, ft_units_time(&text, limited(found[i].time_ns)));
        ft_table_add(&table, ft_units_count(&text, found[i].count));
        ft_table_add(&table, found[i].name);
    }
    if (has_spans) {
        ft_screen_print(screen, FT_STYLE_TITLE, "\nCategories");
        fputs(" (with what goes on inside; `--by cat` tells them apart)\n", screen->out);
        ft_table_print(&table, screen, 2);
    }
    ft_table_fini(&table);
    free(found);
}
