// SPDX-License-Identifier: MIT
/* flowtap events: every event, in order of time. */
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/event_print.h"
#include "client/cli/event_stream.h"
#include "client/cli/progress.h"
#include "client/cli/report.h"
#include "client/cli/where.h"

enum { PROGRESS_EVERY = 4096 };

struct values {
    const char *format;
    bool as_json;
    uint64_t limit;
    const char *where;
    bool with_stats;
};

static const struct values defaults = {.format = "text", .limit = UINT64_MAX};

static const struct ft_option options[] = {
    {FT_OPTION_CHOICE, 0, "format", "FORMAT", "text (default), json (one object a line) or csv",
     offsetof(struct values, format), "text|json|csv"},
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document with all events", offsetof(struct values, as_json),
     NULL},
    {FT_OPTION_COUNT, 'n', "limit", "N", "stop after N events", offsetof(struct values, limit), NULL},
    FT_OPTION_WHERE(struct values, where),
    FT_OPTION_STATS(struct values, with_stats),
};

enum form { FORM_TEXT, FORM_LINES, FORM_CSV, FORM_DOCUMENT };

static enum form form_of(const struct values *values)
{
    if (values->as_json) {
        return FORM_DOCUMENT;
    }
    return strcmp(values->format, "json") == 0 ? FORM_LINES : strcmp(values->format, "csv") == 0 ? FORM_CSV : FORM_TEXT;
}

static void begin(enum form form, struct ft_json *json)
{
    ft_json_init(json, stdout, false);
    if (form == FORM_CSV) {
        ft_event_print_csv_head(stdout);
    } else if (form == FORM_DOCUMENT) {
        ft_json_begin_object(json);
        ft_json_key(json, "events");
        ft_json_begin_array(json);
    }
}

static void print_event(enum form form, struct ft_json *json, const struct ft_event_facts *facts)
{
    switch (form) {
    case FORM_TEXT:
        ft_event_print_text(stdout, facts);
        return;
    case FORM_CSV:
        ft_event_print_csv(stdout, facts);
        return;
    case FORM_LINES:
        ft_event_print_json(json, facts);
        ft_json_end_line(json);
        return;
    case FORM_DOCUMENT:
        ft_event_print_json(json, facts);
        return;
    }
}

static void end(enum form form, struct ft_json *json, const struct ft_trace_set *set, bool is_partial)
{
    if (form == FORM_DOCUMENT) {
        ft_json_end_array(json);
        ft_json_member_bool(json, "partial", is_partial);
        ft_json_end_object(json);
        ft_json_end_line(json);
    }
    ft_json_flush(json);
    if (form == FORM_TEXT && ft_trace_set_events(set) == 0) {
        ft_report_print_empty(set, stdout);
    }
}

static int print_events(const struct values *values, const struct ft_trace_set *set, const struct ft_where *where)
{
    struct ft_event_stream stream;
    struct ft_progress progress;
    struct ft_json json;
    int64_t start_ns = 0, end_ns;
    enum form form = form_of(values);
    int status = ft_event_stream_init(&stream, set, where);
    if (status < 0) {
        return ft_cli_fail("cannot decode events: %s", strerror(-status));
    }
    ft_trace_set_span(set, &start_ns, &end_ns);
    begin(form, &json);
    ft_progress_begin(&progress, "printing events", ft_trace_set_events(set));
    uint64_t printed = 0;
    for (; printed < values->limit && !ferror(stdout); printed++) {
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
    end(form, &json, set, ft_trace_set_is_partial(set) || stream.bad_blocks > 0);
    if (stream.bad_blocks > 0 && !ft_trace_set_is_partial(set)) {
        ft_cli_warn("%llu blocks of events are damaged and were left out (`flowtap verify` tells all)",
                    (unsigned long long)stream.bad_blocks);
    }
    ft_event_stream_fini(&stream);
    return FT_STATUS_DONE;
}

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    static char buffer[1 << 16];
    const struct values *values = values_untyped;
    struct ft_report_where where;
    struct ft_trace_set *set;
    int status = ft_report_where_open(&where, values->where, operands, &set);
    if (status != FT_STATUS_DONE) {
        return status;
    }
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    status = print_events(values, set, where.bound);
    ft_report_where_end(&where, set, values->with_stats);
    ft_trace_set_close(set);
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
