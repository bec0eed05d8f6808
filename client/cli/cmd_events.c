// SPDX-License-Identifier: MIT
/* flowtap events: every event, in order of time or of a field, or groups of them. */
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/event_groups_print.h"
#include "client/cli/event_print.h"
#include "client/cli/event_top.h"
#include "client/cli/progress.h"
#include "client/cli/report.h"
#include "client/cli/units.h"
#include "client/cli/where.h"

enum { PROGRESS_EVERY = 4096 };

struct values {
    const char *format;
    bool as_json;
    uint64_t limit, top; /* top UINT64_MAX: not given; 0: all */
    const char *sort, *by;
    const char *where;
    bool with_stats;
};

static const struct values defaults = {.limit = UINT64_MAX, .top = UINT64_MAX};

static const struct ft_option options[] = {
    {FT_OPTION_CHOICE, 0, "format", "FORMAT", "text (default), json (one object a line) or csv",
     offsetof(struct values, format), "text|json|csv"},
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document with all events", offsetof(struct values, as_json),
     NULL},
    {FT_OPTION_COUNT, 'n', "limit", "N", "stop after N events", offsetof(struct values, limit), NULL},
    {FT_OPTION_STRING, 's', "sort", "FIELD", "order by a field, by -FIELD the largest first (default: by ts)",
     offsetof(struct values, sort), NULL},
    {FT_OPTION_COUNT, 0, "top", "N", "only the first N of that order; 0 (default): all", offsetof(struct values, top),
     NULL},
    {FT_OPTION_STRING, 'b', "by", "FIELD,...",
     "count, bytes and time of each group of events instead; --sort count, bytes, time or one of FIELDs",
     offsetof(struct values, by), NULL},
    FT_OPTION_WHERE(struct values, where),
    FT_OPTION_STATS(struct values, with_stats),
};

static enum ft_event_form form_of(const struct values *values)
{
    if (values->as_json) {
        return FT_EVENT_DOCUMENT;
    }
    if (!values->format || strcmp(values->format, "text") == 0) {
        return FT_EVENT_TEXT;
    }
    return strcmp(values->format, "csv") == 0 ? FT_EVENT_CSV : FT_EVENT_LINES;
}

/* How many rows are wanted. */
static uint64_t most_of(const struct values *values)
{
    return values->top > 0 && values->top < values->limit ? values->top : values->limit;
}

static void begin(enum ft_event_form form, struct ft_json *json)
{
    ft_json_init(json, stdout, false);
    if (form == FT_EVENT_CSV) {
        ft_event_print_csv_head(stdout);
    } else if (form == FT_EVENT_DOCUMENT) {
        ft_json_begin_object(json);
        ft_json_key(json, "events");
        ft_json_begin_array(json);
    }
}

static void print_event(enum ft_event_form form, struct ft_json *json, const struct ft_event_facts *facts)
{
    switch (form) {
    case FT_EVENT_TEXT:
        ft_event_print_text(stdout, facts);
        return;
    case FT_EVENT_CSV:
        ft_event_print_csv(stdout, facts);
        return;
    case FT_EVENT_LINES:
        ft_event_print_json(json, facts);
        ft_json_end_line(json);
        return;
    case FT_EVENT_DOCUMENT:
        ft_event_print_json(json, facts);
        return;
    }
}

/* What is there would else be taken for all that happened. A stream of rows has no place for it. */
static void print_left_out(const struct ft_trace_set *set, enum ft_event_form form, uint64_t bad_blocks)
{
    struct ft_screen screen;
    struct ft_unit_text dropped, gaps;
    struct ft_state state = ft_state_of(set, bad_blocks);
    if (form == FT_EVENT_TEXT) {
        ft_screen_init(&screen, stdout);
        ft_report_print_unseen(&screen, state, ft_trace_set_events(set) > 0 ? ft_trace_set_profiled(set) : 0);
    } else if (form != FT_EVENT_DOCUMENT && (state.dropped > 0 || state.gap_count > 0 || state.unclosed > 0)) {
        ft_cli_warn("%s events were dropped and are not in it; %s%s", ft_units_count(&dropped, state.dropped),
                    ft_units_counted(&gaps, state.gap_count, "gap", "gaps"),
                    state.unclosed > 0 ? "; some files are still open: a daemon writes them now, or was killed" : "");
    }
}

static void end(enum ft_event_form form, struct ft_json *json, const struct ft_trace_set *set, uint64_t bad_blocks)
{
    if (form == FT_EVENT_DOCUMENT) {
        ft_json_end_array(json);
        struct ft_state state = ft_state_of(set, bad_blocks);
        ft_report_json_unseen(json, state);
        ft_json_member_uint(json, "profiled", ft_trace_set_profiled(set));
        ft_report_json_state(json, state);
        ft_json_end_object(json);
        ft_json_end_line(json);
    }
    ft_json_flush(json);
    if (form == FT_EVENT_TEXT && ft_trace_set_events(set) == 0) {
        ft_report_print_empty(set, "no event is chosen", stdout);
    }
    print_left_out(set, form, bad_blocks);
}

static int print_in_time(const struct values *values, const struct ft_trace_set *set, const struct ft_where *where)
{
    struct ft_event_stream stream;
    struct ft_progress progress;
    struct ft_json json;
    int64_t start_ns = 0, end_ns;
    enum ft_event_form form = form_of(values);
    int status = ft_event_stream_init(&stream, set, where);
    if (status < 0) {
        return ft_cli_fail("cannot decode events: %s", strerror(-status));
    }
    ft_trace_set_span(set, &start_ns, &end_ns);
    begin(form, &json);
    ft_progress_begin(&progress, "printing events", ft_trace_set_events(set));
    uint64_t printed = 0;
    for (; printed < most_of(values) && !ferror(stdout); printed++) {
        const struct ft_stream_event *event = ft_event_stream_next(&stream);
        struct ft_event_facts facts;
        if (!event) {
            break;
        }
        ft_event_facts_find(&facts, set, event, start_ns);
        print_event(form, &json, &facts);
        if (printed % PROGRESS_EVERY == PROGRESS_EVERY - 1) {
            ft_progress_step(&progress, PROGRESS_EVERY);
        }
    }
    ft_progress_end(&progress);
    end(form, &json, set, stream.bad_blocks);
    ft_report_warn_of_blocks(set, stream.bad_blocks);
    ft_event_stream_fini(&stream);
    return FT_STATUS_DONE;
}

static void print_top(const struct ft_event_top *top, enum ft_event_form form, const struct ft_trace_set *set)
{
    struct ft_json json;
    int64_t start_ns = 0, end_ns;
    ft_trace_set_span(set, &start_ns, &end_ns);
    begin(form, &json);
    for (size_t i = 0; i < top->count && !ferror(stdout); i++) {
        struct ft_event_facts facts;
        if (top->is_read[i]) {
            ft_event_facts_find(&facts, set, &top->events[i], start_ns);
            print_event(form, &json, &facts);
        }
    }
    end(form, &json, set, top->bad_blocks);
}

static int too_many(uint64_t count)
{
    struct ft_unit_text all, most;
    return ft_cli_fail("%s events are more than are put in order at a time (%s): say how many are wanted (--top N), "
                       "or choose (--where)",
                       ft_units_count(&all, count), ft_units_count(&most, FT_EVENT_TOP_MAX));
}

static int print_sorted(const struct values *values, struct ft_event_order *order, const struct ft_trace_set *set,
                        const struct ft_where *where)
{
    uint64_t most = most_of(values);
    struct ft_event_top top;
    bool is_cut = most > FT_EVENT_TOP_MAX;
    if (is_cut && !where && ft_trace_set_events(set) > FT_EVENT_TOP_MAX) {
        return too_many(ft_trace_set_events(set));
    }
    ft_event_order_bind(order, set);
    ft_event_top_find(&top, order, set, where, is_cut ? FT_EVENT_TOP_MAX : (size_t)most);
    int status;
    if (is_cut && top.chosen > FT_EVENT_TOP_MAX) {
        status = too_many(top.chosen);
    } else if ((status = ft_event_top_fetch(&top, set, where)) < 0) {
        status = ft_cli_fail("cannot decode events: %s", strerror(-status));
    } else {
        print_top(&top, form_of(values), set);
        ft_report_warn_of_blocks(set, top.bad_blocks);
    }
    ft_event_top_fini(&top);
    return status;
}

static int print_groups(const struct values *values, struct ft_group_keys *keys, const struct ft_trace_set *set,
                        const struct ft_where *where)
{
    struct ft_event_groups groups;
    struct ft_unit_text most;
    enum ft_event_form form = form_of(values);
    int status = FT_STATUS_DONE;
    ft_group_keys_bind(keys, set);
    ft_event_groups_read(&groups, keys, set, where);
    if (groups.are_too_many) {
        status = ft_cli_fail("more than %s groups: fewer fields (--by), or fewer events (--where)",
                             ft_units_count(&most, FT_EVENT_GROUPS_MAX));
    } else if (form == FT_EVENT_TEXT && ft_trace_set_events(set) == 0) {
        ft_report_print_empty(set, "no event is chosen", stdout);
    } else {
        ft_event_groups_sort(&groups, values->sort);
        struct ft_event_left_out left_out = {.profiled = ft_trace_set_profiled(set),
                                             .state = ft_state_of(set, groups.bad_blocks)};
        ft_event_groups_print(&groups, form, most_of(values), &left_out);
        print_left_out(set, form, groups.bad_blocks);
        ft_report_warn_of_blocks(set, groups.bad_blocks);
    }
    ft_event_groups_fini(&groups);
    return status;
}

/* What --sort and --by ask for; only one of the two is filled. */
struct wish {
    bool has_groups, has_order;
    struct ft_group_keys keys;
    struct ft_event_order order;
};

static void release(struct wish *wish)
{
    if (wish->has_groups) {
        ft_group_keys_fini(&wish->keys);
    }
    if (wish->has_order) {
        ft_event_order_fini(&wish->order);
    }
}

static int wish_of(const struct values *values, struct wish *wish)
{
    char error[128];
    memset(wish, 0, sizeof(*wish));
    if (values->as_json && values->format) {
        return ft_cli_fail_usage("--json is one document, --format %s another form; give one of them", values->format);
    }
    if (!values->by && values->sort && strcmp(values->sort, "ts") != 0 && strcmp(values->sort, "t") != 0) {
        wish->has_order = ft_event_order_parse(&wish->order, values->sort, error, sizeof(error)) == 0;
        return wish->has_order ? FT_STATUS_DONE : ft_cli_fail_usage("--sort: %s", error);
    }
    if (!values->by) {
        return FT_STATUS_DONE;
    }
    wish->has_groups = true;
    if (ft_group_keys_parse(&wish->keys, values->by, error, sizeof(error)) < 0) {
        return ft_cli_fail_usage("--by: %s", error);
    }
    return ft_event_groups_sorts(&wish->keys, values->sort)
               ? FT_STATUS_DONE
               : ft_cli_fail_usage("--sort: groups go by count, bytes, time or one of %s, not by '%s'", values->by,
                                   values->sort);
}

static int report(const struct values *values, struct wish *wish, const struct ft_strings *operands)
{
    struct ft_report_where where;
    struct ft_trace_set *set;
    int status = ft_report_where_open(&where, values->where, operands, &set);
    if (status != FT_STATUS_DONE) {
        return status;
    }
    if (wish->has_groups) {
        status = print_groups(values, &wish->keys, set, where.bound);
    } else if (wish->has_order) {
        status = print_sorted(values, &wish->order, set, where.bound);
    } else {
        status = print_in_time(values, set, where.bound);
    }
    ft_report_where_end(&where, set, values->with_stats);
    ft_trace_set_close(set);
    return status;
}

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    static char buffer[1 << 16];
    const struct values *values = values_untyped;
    struct wish wish;
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    int status = wish_of(values, &wish);
    if (status == FT_STATUS_DONE) {
        status = report(values, &wish, operands);
    }
    release(&wish);
    return ft_cli_finish_output(status);
}

const struct ft_command ft_command_events = {
    .name = "events",
    .summary = "every event, in order of time",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    FT_COMMAND_READS_TRACES,
    .values_bytes = sizeof(struct values),
    .defaults = &defaults,
    .run = run,
};
