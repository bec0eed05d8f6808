// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/diff.h"
#include "client/cli/report.h"
#include "client/cli/table.h"
#include "client/cli/units.h"

/* How long something went on is not known of sums, nor where all of it was dropped. */
static bool is_known(const struct ft_diff *diff, int total, int side)
{
    enum { IO_TIME = 1, COMPUTE_TIME, OVERLAP_TIME };
    const struct ft_diff_run *run = &diff->runs[side];
    bool is_any = run->profiled == 0 && (run->stored > 0 || run->state.dropped == 0);
    switch (total) {
    case COMPUTE_TIME:
        return is_any;
    case IO_TIME:
    case OVERLAP_TIME:
        return is_any && ft_calls_know_io_times(&run->calls);
    default:
        return true;
    }
}

static uint64_t positive(int64_t ns)
{
    return ns > 0 ? (uint64_t)ns : 0;
}

void ft_diff_totals(const struct ft_diff *diff, struct ft_diff_total out[FT_DIFF_TOTAL_COUNT])
{
    static const struct ft_diff_total names[FT_DIFF_TOTAL_COUNT] = {
        {"wall_time", "Wall time", FT_DIFF_SECONDS, {0}},
        {"io_time", "I/O", FT_DIFF_SECONDS, {0}},
        {"compute_time", "Compute", FT_DIFF_SECONDS, {0}},
        {"overlap_time", "Both at once", FT_DIFF_SECONDS, {0}},
        {"read_bytes", "Read", FT_DIFF_BYTES, {0}},
        {"read_time", "Reading", FT_DIFF_SECONDS, {0}},
        {"reads", "Reads", FT_DIFF_COUNT, {0}},
        {"written_bytes", "Written", FT_DIFF_BYTES, {0}},
        {"write_time", "Writing", FT_DIFF_SECONDS, {0}},
        {"writes", "Writes", FT_DIFF_COUNT, {0}},
        {"metadata_time", "Metadata", FT_DIFF_SECONDS, {0}},
        {"metadata", "Metadata calls", FT_DIFF_COUNT, {0}},
        {"processes", "Processes", FT_DIFF_COUNT, {0}},
        {"files", "Files", FT_DIFF_COUNT, {0}},
    };
    memcpy(out, names, sizeof(names));
    for (int side = 0; side < 2; side++) {
        const struct ft_diff_run *run = &diff->runs[side];
        const struct ft_calls *calls = &run->calls;
        const uint64_t values[FT_DIFF_TOTAL_COUNT] = {
            positive(run->end_ns - run->start_ns),
            positive(run->times.total_ns[FT_SWEEP_IO]),
            positive(run->times.total_ns[FT_SWEEP_COMPUTE]),
            positive(run->times.io_and_compute_ns),
            calls->read.bytes,
            calls->read.time_ns,
            calls->read.count,
            calls->write.bytes,
            calls->write.time_ns,
            calls->write.count,
            calls->metadata.time_ns,
            calls->metadata.count,
            run->process_count,
            run->file_count,
        };
        for (int i = 0; i < FT_DIFF_TOTAL_COUNT; i++) {
            out[i].of[side] = values[i];
        }
    }
}

static const char *show(struct ft_unit_text *text, enum ft_diff_unit unit, uint64_t value)
{
    switch (unit) {
    case FT_DIFF_SECONDS:
        return ft_units_time(text, value > INT64_MAX ? INT64_MAX : (int64_t)value);
    case FT_DIFF_BYTES:
        return ft_units_bytes(text, value);
    default:
        return ft_units_count(text, value);
    }
}

/* "+1.23 s", "-45 ms", "=". */
static const char *show_change(struct ft_unit_text *text, enum ft_diff_unit unit, uint64_t a, uint64_t b)
{
    struct ft_unit_text amount;
    if (a == b) {
        return "=";
    }
    show(&amount, unit, a < b ? b - a : a - b);
    snprintf(text->text, sizeof(text->text), "%c%.38s", a < b ? '+' : '-', amount.text);
    return text->text;
}

static const char *show_share(struct ft_unit_text *text, uint64_t a, uint64_t b)
{
    if (a == 0 || a == b) {
        return "";
    }
    snprintf(text->text, sizeof(text->text), "%+.0f %%", ((double)b - (double)a) * 100 / (double)a);
    return text->text;
}

static void print_totals(const struct ft_diff *diff, const struct ft_screen *screen)
{
    static const struct ft_column columns[] = {
        {"", false, false}, {"A", true, false}, {"B", true, false}, {"CHANGE", true, false}, {"", true, false}};
    struct ft_diff_total totals[FT_DIFF_TOTAL_COUNT];
    struct ft_table table;
    struct ft_unit_text text;
    ft_diff_totals(diff, totals);
    ft_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (int i = 0; i < FT_DIFF_TOTAL_COUNT; i++) {
        const struct ft_diff_total *total = &totals[i];
        ft_table_add(&table, total->title);
        bool are_known = is_known(diff, i, 0) && is_known(diff, i, 1);
        for (int side = 0; side < 2; side++) {
            ft_table_add(&table, is_known(diff, i, side) ? show(&text, total->unit, total->of[side]) : "-");
        }
        ft_table_add(&table, are_known ? show_change(&text, total->unit, total->of[0], total->of[1]) : "-");
        ft_table_add(&table, are_known ? show_share(&text, total->of[0], total->of[1]) : "");
    }
    ft_table_print(&table, screen, 0);
    ft_table_fini(&table);
}

static void add_row(struct ft_table *table, const struct ft_diff_row *row, bool has_category)
{
    struct ft_unit_text text;
    const struct ft_sum *a = &row->of[0], *b = &row->of[1];
    ft_table_add(table, ft_diff_change_name(row->change));
    ft_table_add(table, show_change(&text, FT_DIFF_SECONDS, a->time_ns, b->time_ns));
    ft_table_add(table, show(&text, FT_DIFF_SECONDS, a->time_ns));
    ft_table_add(table, show(&text, FT_DIFF_SECONDS, b->time_ns));
    ft_table_add(table, show_change(&text, FT_DIFF_COUNT, a->count, b->count));
    ft_table_add(table, show_change(&text, FT_DIFF_BYTES, a->bytes, b->bytes));
    if (row->name.len && has_category) {
        char *named = ft_cli_format("%.*s (%.*s)", (int)row->name.len, row->name.data, (int)row->category.len,
                                    row->category.len ? row->category.data : "");
        ft_table_add(table, named);
        free(named);
    } else if (row->name.len) {
        ft_table_add_bytes(table, row->name.data, row->name.len);
    } else {
        ft_table_add(table, "(none)");
    }
}

/* Rows that are the same are not shown. */
static void print_list(const struct ft_diff_list *list, const struct ft_diff_list *spans, const char *title,
                       const char *count_title, bool has_paths, size_t top, const struct ft_screen *screen)
{
    const struct ft_column columns[] = {{"", false, false},      {"CHANGE", true, false},    {"TIME A", true, false},
                                        {"TIME B", true, false}, {count_title, true, false}, {"BYTES", true, false},
                                        {"", false, has_paths}};
    struct ft_table table;
    struct ft_unit_text number;
    size_t shown = 0, changed = 0;
    ft_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < list->count; i++) {
        if (list->rows[i].change != FT_DIFF_SAME) {
            changed++;
            if (top == 0 || shown < top) {
                add_row(&table, &list->rows[i], list == spans);
                shown++;
            }
        }
    }
    if (shown > 0) {
        ft_screen_print(screen, FT_STYLE_TITLE, "\n%s", title);
        fprintf(screen->out, " (%s of ", ft_units_count(&number, changed));
        fprintf(screen->out, "%s changed)\n", ft_units_count(&number, list->count));
        ft_table_print(&table, screen, 0);
    }
    if (shown < changed) {
        fprintf(screen->out, "... and %s more (--top 0 shows all)\n", ft_units_count(&number, changed - shown));
    }
    ft_table_fini(&table);
}

static const char *which(bool is_a, bool is_b)
{
    return !is_b ? "A" : is_a ? "A and B" : "B";
}

static void print_unseen(const struct ft_diff_run *run, const char *side, const struct ft_screen *screen)
{
    const struct ft_state *state = &run->state;
    struct ft_unit_text count;
    if (run->missing) {
        ft_screen_print(screen, FT_STYLE_WARN, "\nOf %s %s missing: what vanished may be that.\n", side,
                        ft_units_counted(&count, run->missing, "event is", "events are"));
    } else if (state->is_partial) {
        ft_screen_print(screen, FT_STYLE_WARN, "\nOf %s something is missing: what vanished may be that.\n", side);
    }
    if (state->dropped) {
        ft_screen_print(screen, FT_STYLE_WARN, "\nOf %s %s events were dropped: %s\n", side,
                        ft_units_count(&count, state->dropped),
                        "totals and calls have them, files and programs lack what they moved.");
    }
    if (state->gap_count) {
        ft_screen_print(screen, FT_STYLE_WARN, "\nOf %s not all could be seen: %s %s (`flowtap processes`).\n", side,
                        ft_units_count(&count, state->gap_count), state->gap_count == 1 ? "gap" : "gaps");
    }
}

void ft_diff_print_text(const struct ft_diff *diff, const char *const titles[2], size_t top, FILE *out)
{
    struct ft_screen screen;
    ft_screen_init(&screen, out);
    ft_screen_print(&screen, FT_STYLE_TITLE, "A: %s\nB: %s\n\n", titles[0], titles[1]);
    print_totals(diff, &screen);
    print_list(&diff->calls, &diff->spans, "Calls", "CALLS", false, top, &screen);
    print_list(&diff->spans, &diff->spans, "Spans", "SPANS", false, top, &screen);
    print_list(&diff->files, &diff->spans, "Files", "EVENTS", true, top, &screen);
    print_list(&diff->programs, &diff->spans, "Programs", "EVENTS", true, top, &screen);
    const struct ft_state *a = &diff->runs[0].state, *b = &diff->runs[1].state;
    for (int side = 0; side < 2; side++) {
        print_unseen(&diff->runs[side], side ? "B" : "A", &screen);
    }
    if (a->unclosed || b->unclosed) {
        fprintf(out, "\nOf %s files are still open: a daemon writes there now, or was killed.\n",
                which(a->unclosed, b->unclosed));
    }
}

static void put_time(struct ft_json *json, const char *key, uint64_t ns)
{
    ft_json_member_seconds(json, key, ns > INT64_MAX ? INT64_MAX : (int64_t)ns);
}

static void put_totals(struct ft_json *json, const struct ft_diff *diff)
{
    struct ft_diff_total totals[FT_DIFF_TOTAL_COUNT];
    ft_diff_totals(diff, totals);
    ft_json_key(json, "totals");
    ft_json_begin_object(json);
    for (int i = 0; i < FT_DIFF_TOTAL_COUNT; i++) {
        ft_json_key(json, totals[i].name);
        ft_json_begin_object(json);
        for (int side = 0; side < 2; side++) {
            if (!is_known(diff, i, side)) {
                ft_json_key(json, side ? "b" : "a");
                ft_json_null(json);
            } else if (totals[i].unit == FT_DIFF_SECONDS) {
                put_time(json, side ? "b" : "a", totals[i].of[side]);
            } else {
                ft_json_member_uint(json, side ? "b" : "a", totals[i].of[side]);
            }
        }
        ft_json_end_object(json);
    }
    ft_json_end_object(json);
}

static void put_row(struct ft_json *json, const struct ft_diff_row *row, const char *name, bool has_category,
                    bool has_processes)
{
    ft_json_begin_object(json);
    ft_report_json_bytes(json, name, row->name);
    if (has_category) {
        ft_report_json_bytes(json, "category", row->category);
    }
    ft_json_member_string(json, "change", ft_diff_change_name(row->change));
    ft_json_member_seconds(json, "time_change", row->by_count_ns + row->by_speed_ns);
    ft_json_member_seconds(json, "by_count", row->by_count_ns);
    ft_json_member_seconds(json, "by_speed", row->by_speed_ns);
    for (int side = 0; side < 2; side++) {
        ft_json_key(json, side ? "b" : "a");
        ft_json_begin_object(json);
        ft_json_member_uint(json, "count", row->of[side].count);
        ft_json_member_uint(json, "bytes", row->of[side].bytes);
        put_time(json, "time", row->of[side].time_ns);
        if (has_processes) {
            ft_json_member_uint(json, "processes", row->processes[side]);
        }
        ft_json_end_object(json);
    }
    ft_json_end_object(json);
}

static void put_pair(struct ft_json *json, const char *key, uint64_t a, uint64_t b)
{
    ft_json_key(json, key);
    ft_json_begin_object(json);
    ft_json_member_uint(json, "a", a);
    ft_json_member_uint(json, "b", b);
    ft_json_end_object(json);
}

void ft_diff_print_json(const struct ft_diff *diff, const char *const paths[2], size_t top, FILE *out)
{
    const struct {
        const char *key, *name;
        const struct ft_diff_list *list;
        bool has_category, has_processes;
    } lists[] = {{"calls", "name", &diff->calls, true, false},
                 {"spans", "name", &diff->spans, true, false},
                 {"files", "path", &diff->files, false, false},
                 {"programs", "exe", &diff->programs, false, true}};
    struct ft_json json;
    ft_json_init(&json, out, true);
    ft_json_begin_object(&json);
    for (int side = 0; side < 2; side++) {
        ft_json_member_text(&json, side ? "b" : "a", paths[side], strlen(paths[side]));
    }
    put_totals(&json, diff);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        ft_json_key(&json, lists[i].key);
        ft_json_begin_array(&json);
        for (size_t k = 0; k < lists[i].list->count && (top == 0 || k < top); k++) {
            put_row(&json, &lists[i].list->rows[k], lists[i].name, lists[i].has_category, lists[i].has_processes);
        }
        ft_json_end_array(&json);
    }
    const struct ft_state *a = &diff->runs[0].state, *b = &diff->runs[1].state;
    put_pair(&json, "dropped", a->dropped, b->dropped);
    put_pair(&json, "missing", diff->runs[0].missing, diff->runs[1].missing);
    put_pair(&json, "gap_count", a->gap_count, b->gap_count);
    ft_report_json_state(
        &json, (struct ft_state){.is_partial = a->is_partial || b->is_partial, .unclosed = a->unclosed + b->unclosed});
    ft_json_end_object(&json);
    ft_json_end_line(&json);
    ft_json_flush(&json);
}
