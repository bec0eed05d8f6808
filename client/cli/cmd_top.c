// SPDX-License-Identifier: MIT
/* flowtap top: what goes on now, by job, process or file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/cli/cli.h"
#include "client/cli/daemon_ask.h"
#include "client/cli/daemon_report.h"
#include "client/cli/top.h"
#include "client/cli/top_screen.h"
#include "client/trace/filter.h"

#define NS_PER_S INT64_C(1000000000)
#define INTERVAL_MIN_NS (NS_PER_S / 10)
#define INTERVAL_MAX_NS (NS_PER_S * 3600)

struct values {
    bool as_json;
    const char *socket, *by, *sort, *interval;
    uint64_t count, top;
};

static const struct values defaults = {.by = "job", .sort = "bandwidth", .interval = "2s"};

static const struct ft_option options[] = {
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON object a line for each look", offsetof(struct values, as_json),
     NULL},
    {FT_OPTION_CHOICE, 'b', "by", "WHAT", "what a line is of: job, process or file (default: job)",
     offsetof(struct values, by), "job|process|file"},
    {FT_OPTION_CHOICE, 's', "sort", "KEY", "what is highest first: bandwidth, ops or drops (default: bandwidth)",
     offsetof(struct values, sort), "bandwidth|ops|drops"},
    {FT_OPTION_STRING, 'i', "interval", "TIME", "how often it looks, such as 500ms (default: 2s)",
     offsetof(struct values, interval), NULL},
    {FT_OPTION_COUNT, 'n', "count", "N", "end after N looks (default: never)", offsetof(struct values, count), NULL},
    {FT_OPTION_COUNT, 0, "top", "N", "only the N highest (default: what fits, elsewhere all)",
     offsetof(struct values, top), NULL},
    FT_OPTION_SOCKET(struct values, socket),
};

/* What is looked at, and what was seen last. */
struct view {
    const struct values *values;
    const char *socket;
    enum ft_top_view of;
    enum ft_top_key key;
    int64_t interval_ns;
    struct ft_top now;
    int error; /* of the last look */
};

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void look(struct view *view)
{
    struct ft_top next = {0};
    view->error = ft_top_ask(view->socket, view->of, view->interval_ns, view->now.answer ? &view->now : NULL, &next);
    if (view->error == 0) {
        ft_top_fini(&view->now);
        view->now = next;
    }
}

/* Another kind of line: what was seen is of no use for it. */
static void change_view(struct view *view, enum ft_top_view of)
{
    view->of = of;
    ft_top_fini(&view->now);
    look(view);
}

static void draw(const struct view *view)
{
    struct ft_screen screen;
    enum { AROUND = 4 };
    size_t lines = ft_top_screen_begin(&screen);
    size_t most = lines > AROUND + 2 ? lines - AROUND - 2 : 1;
    if (lines == 0) {
        return;
    }
    if (view->values->top && view->values->top < most) {
        most = (size_t)view->values->top;
    }
    ft_screen_print(&screen, FT_STYLE_TITLE, "flowtap top");
    if (view->now.answer) {
        ft_screen_print_names(&screen, FT_STYLE_NONE, "  %.*s, by %s, highest %s first",
                              (int)view->now.answer->host.len,
                              view->now.answer->host.len ? (const char *)view->now.answer->host.data : "",
                              ft_top_view_name(view->of), ft_top_key_name(view->key));
    }
    fputc('\n', screen.out);
    if (view->error) {
        ft_screen_print_names(&screen, FT_STYLE_WARN, "%s: %s", view->socket, ft_ask_explain(view->error));
        fputc('\n', screen.out);
    } else {
        fputc('\n', screen.out);
    }
    if (view->now.answer) {
        ft_top_print_text(&view->now, view->of, view->key, most, &screen);
    }
    ft_screen_print(&screen, FT_STYLE_DIM, "\nj jobs  p processes  f files   b bandwidth  o ops  d drops   q quit");
    ft_top_screen_end();
}

/* Whether to go on. */
static bool take_key(struct view *view, int key)
{
    switch (key) {
    case 'q':
    case 'Q':
        return false;
    case 'j':
        change_view(view, FT_TOP_JOBS);
        break;
    case 'p':
        change_view(view, FT_TOP_PROCESSES);
        break;
    case 'f':
        change_view(view, FT_TOP_FILES);
        break;
    case 'b':
        view->key = FT_TOP_BY_BANDWIDTH;
        break;
    case 'o':
        view->key = FT_TOP_BY_OPS;
        break;
    case 'd':
        view->key = FT_TOP_BY_DROPS;
        break;
    default:
        break;
    }
    return true;
}

static int run_on_terminal(struct view *view)
{
    int error = ft_top_screen_open();
    if (error < 0) {
        return ft_cli_fail("the terminal: %s", strerror(-error));
    }
    int64_t next_ns = monotonic_ns() + view->interval_ns;
    for (uint64_t looks = 0; !view->values->count || looks < view->values->count;) {
        draw(view);
        int what = ft_top_screen_wait(next_ns - monotonic_ns());
        if (what == FT_TOP_ENDED || (what >= 0 && !take_key(view, what))) {
            break;
        }
        if (monotonic_ns() >= next_ns) {
            look(view);
            looks++;
            next_ns = monotonic_ns() + view->interval_ns;
        }
    }
    ft_top_screen_close();
    ft_top_screen_die();
    return FT_STATUS_DONE;
}

static void sleep_ns(int64_t ns)
{
    const struct timespec time = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static int run_plain(struct view *view)
{
    const struct values *values = view->values;
    struct ft_screen screen;
    ft_screen_init(&screen, stdout);
    for (uint64_t looks = 0; !values->count || looks < values->count; looks++) {
        sleep_ns(view->interval_ns);
        look(view);
        if (ft_ask_is_passing(view->error)) {
            ft_cli_warn("%s: %s", view->socket, ft_ask_explain(view->error));
            continue;
        }
        if (view->error) {
            return ft_cli_fail("%s: %s", view->socket, ft_ask_explain(view->error));
        }
        if (values->as_json) {
            ft_top_print_json(&view->now, view->of, view->key, (size_t)values->top, stdout);
        } else {
            fputs(looks ? "\n" : "", stdout);
            ft_top_print_text(&view->now, view->of, view->key, (size_t)values->top, &screen);
        }
        if (fflush(stdout) != 0) {
            break;
        }
    }
    return ft_cli_finish_output(view->error ? FT_STATUS_FAILED : FT_STATUS_DONE);
}

static unsigned index_of(const char *word, const char *(*name)(unsigned index), unsigned count)
{
    unsigned at = 0;
    while (at + 1 < count && strcmp(name(at), word) != 0) {
        at++;
    }
    return at;
}

static const char *view_name(unsigned index)
{
    return ft_top_view_name((enum ft_top_view)index);
}

static const char *key_name(unsigned index)
{
    return ft_top_key_name((enum ft_top_key)index);
}

static int run(const void *given, const struct ft_strings *operands)
{
    const struct values *values = given;
    struct view view = {.values = values,
                        .socket = ft_ask_socket_path(values->socket),
                        .of = (enum ft_top_view)index_of(values->by, view_name, FT_TOP_VIEWS),
                        .key = (enum ft_top_key)index_of(values->sort, key_name, FT_TOP_KEYS)};
    char error[128];
    (void)operands;
    if (!ft_filter_time(values->interval, &view.interval_ns, error, sizeof(error))) {
        return ft_cli_fail_usage("--interval: %s", error);
    }
    if (view.interval_ns < INTERVAL_MIN_NS || view.interval_ns > INTERVAL_MAX_NS) {
        return ft_cli_fail_usage("--interval: 100ms to 3600s");
    }
    look(&view); /* from here on the daemon adds up */
    int status = view.error ? ft_cli_fail("%s: %s", view.socket, ft_ask_explain(view.error))
                 : values->as_json || !ft_top_screen_is_possible() ? run_plain(&view)
                                                                   : run_on_terminal(&view);
    ft_top_fini(&view.now);
    return status;
}

const struct ft_command ft_command_top = {
    .name = "top",
    .arguments = "",
    .summary = "what goes on now, by job, process or file",
    .details = "On a terminal: j, p, f change what a line is of, b, o, d what is highest first, q ends.",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .values_bytes = sizeof(struct values),
    .defaults = &defaults,
    .run = run,
};
