// SPDX-License-Identifier: MIT
/* flowtap timeline: what happened when. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_job.h"
#include "client/cli/cli.h"
#include "client/cli/report.h"
#include "client/cli/timeline.h"
#include "client/cli/units.h"
#include "client/cli/where.h"
#include "client/trace/filter.h"

enum { JSON_BINS = 100 };

struct values {
    bool as_json, with_stats;
    uint64_t bins; /* 0: as many as are good to look at */
    const char *width, *where;
};

static const struct ft_option options[] = {
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document", offsetof(struct values, as_json), NULL},
    {FT_OPTION_COUNT, 'b', "bins", "N", "divide the time into N bins (default: what fits, with --json about 100)",
     offsetof(struct values, bins), NULL},
    {FT_OPTION_STRING, 0, "width", "TIME", "or into bins so wide, such as 10ms", offsetof(struct values, width), NULL},
    FT_OPTION_WHERE(struct values, where),
    FT_OPTION_STATS(struct values, with_stats),
};

static int wish_of(const struct values *values, const struct ft_timeline_look *look, struct ft_timeline_wish *wish)
{
    char error[128];
    *wish = (struct ft_timeline_wish){.bins = values->bins,
                                      .bins_most = values->as_json ? (size_t)JSON_BINS : look->columns};
    if (!values->width) {
        return FT_STATUS_DONE;
    }
    if (values->bins > 0) {
        return ft_cli_fail_usage("--bins and --width exclude each other");
    }
    if (!ft_filter_time(values->width, &wish->width_ns, error, sizeof(error))) {
        return ft_cli_fail_usage("--width: %s", error);
    }
    return wish->width_ns > 0 ? FT_STATUS_DONE : ft_cli_fail_usage("--width: a bin has to be wider than nothing");
}

static void print_text(const struct ft_timeline *timeline, const struct ft_trace_set *set, struct ft_state state,
                       uint64_t left_out, const struct ft_screen *screen, const struct ft_timeline_look *look)
{
    struct ft_unit_text count;
    if (ft_trace_set_events(set) == 0 && timeline->profiled == 0) {
        ft_report_print_empty(set, "no event is chosen", stdout);
        ft_report_print_unseen(screen, state, left_out);
        return;
    }
    if (timeline->start_ns == 0 && timeline->end_ns == 0) {
        fputs("nothing to report: no event is chosen\n", stdout);
        ft_report_print_unseen(screen, state, left_out);
        return;
    }
    ft_timeline_print_text(timeline, screen, look);
    if (timeline->profiled) {
        printf("Of %s events there are sums alone: each is spread over the time in which its events were.\n",
               ft_units_count(&count, timeline->profiled));
    }
    ft_report_print_unseen(screen, state, left_out);
}

static int report(const struct values *values, const struct ft_timeline_wish *wish, const struct ft_screen *screen,
                  const struct ft_timeline_look *look, const struct ft_trace_set *set, const struct ft_where *where)
{
    struct ft_timeline timeline;
    uint64_t left_out = where ? ft_trace_set_profiled(set) : 0;
    if (ft_timeline_read(&timeline, set, where, wish) < 0) {
        return ft_cli_fail("more than %d bins: make them wider", FT_TIMELINE_BINS_MAX);
    }
    struct ft_state state = ft_state_of(set, timeline.bad_blocks);
    if (values->as_json) {
        ft_timeline_print_json(&timeline, left_out, state, stdout);
    } else {
        print_text(&timeline, set, state, left_out, screen, look);
    }
    ft_report_warn_of_blocks(set, timeline.bad_blocks);
    ft_timeline_fini(&timeline);
    return FT_STATUS_DONE;
}

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    const struct values *values = values_untyped;
    struct ft_timeline_wish wish;
    struct ft_report_where where;
    struct ft_screen screen;
    struct ft_trace_set *set;
    ft_screen_init(&screen, stdout);
    struct ft_timeline_look look = ft_timeline_look(&screen);
    int status = wish_of(values, &look, &wish);
    if (status == FT_STATUS_DONE) {
        status = ft_report_where_open(&where, values->where, operands, &set);
    }
    if (status != FT_STATUS_DONE) {
        return status;
    }
    char *title = ft_report_title(operands, NULL, set);
    look.title = title;
    status = report(values, &wish, &screen, &look, set, where.bound);
    free(title);
    ft_report_where_end(&where, set, values->with_stats);
    ft_trace_set_close(set);
    return ft_cli_finish_output(status);
}

const struct ft_command ft_command_timeline = {
    .name = "timeline",
    .summary = "bandwidth, calls, overlap over time",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    FT_COMMAND_READS_TRACES,
    .values_bytes = sizeof(struct values),
    .run = run,
};
