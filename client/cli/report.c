// SPDX-License-Identifier: MIT
#include "client/cli/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/functions.h"
#include "client/cli/progress.h"
#include "client/cli/read_memory.h"
#include "client/cli/text.h"
#include "client/cli/units.h"
#include "proto/calls.h"

enum { TITLE_PATHS_MAX = 3 };

static void show_progress(void *context, uint64_t done, uint64_t total)
{
    struct ft_progress *progress = context;
    progress->whole = total;
    ft_progress_step(progress, done > progress->done ? done - progress->done : 0);
}

static int explain(const char *path, int error)
{
    switch (error) {
    case -ENODATA:
        return ft_cli_fail("%s: no trace file (*.flow) in this folder; give the folder that `flowtap run` named", path);
    case -EBADMSG:
        return ft_cli_fail("%s: not a Flowtap trace file", path);
    case -EPROTONOSUPPORT:
        return ft_cli_fail("%s: written by another major version of Flowtap (this one reads %u.x); read it with that",
                           path, FT_TRACE_MAJOR);
    default:
        return ft_cli_fail("%s: cannot read the trace: %s", path, strerror(-error));
    }
}

/* One line for all copies, or for all files without a clock; whether there is one. */
static bool warn_of_left_out(const struct ft_trace_set *set, bool are_copies)
{
    size_t count, found = 0;
    const struct ft_trace_set_left_out *left_out = ft_trace_set_left_out(set, &count), *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (are_copies == (left_out[i].copy_of != NULL)) {
            first = first ? first : &left_out[i];
            found++;
        }
    }
    const char *more = found > 1 ? are_copies ? ", and there are more copies" : ", and there are more such files" : "";
    if (found > 0 && are_copies) {
        ft_cli_warn("%s: a copy of %s; it was left out%s", first->path, first->copy_of, more);
    } else if (found > 0) {
        ft_cli_warn("%s: its clock is lost with its header, so that it was left out; the report is partial%s (read it "
                    "alone)",
                    first->path, more);
    }
    return found > 0;
}

/* The worst of what is wrong, in one line. */
static void warn_of_damage(const struct ft_trace_set *set)
{
    size_t unreadable_count, damaged = 0;
    const struct ft_trace_set_unreadable *unreadable = ft_trace_set_unreadable(set, &unreadable_count);
    const struct ft_trace_reader *first = NULL;
    const char *why = "";
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(set, r);
        size_t count;
        const struct ft_trace_problem *problems = ft_trace_reader_problems(reader, &count);
        bool is_damaged = false;
        for (size_t i = 0; i < count && !is_damaged; i++) {
            is_damaged = ft_problem_is_damage(problems[i].kind);
            if (is_damaged && !first) {
                first = reader;
                why = ft_problem_text(problems[i].kind);
            }
        }
        damaged += is_damaged;
    }
    if (!first && unreadable_count == 0 && ft_trace_set_is_limited(set)) {
        ft_cli_warn("%s; the report is partial (%s)", ft_problem_text(FT_PROBLEM_LIMIT), ft_read_memory_advice());
    } else if (first) {
        ft_cli_warn("%s: %s; the report is partial%s (`flowtap verify` tells all)", ft_trace_reader_path(first), why,
                    damaged > 1 ? ", and more files are damaged" : "");
    } else if (unreadable_count > 0) {
        ft_cli_warn("%s: %s; the report is partial%s (`flowtap verify` tells all)", unreadable[0].path,
                    ft_trace_set_unreadable_text(unreadable[0].error),
                    unreadable_count > 1 ? ", and more files could not be read" : "");
    } else if (!warn_of_left_out(set, false)) {
        ft_cli_warn("something of the trace is missing; the report is partial (`flowtap verify` tells all)");
    }
}

static int open_as(const struct ft_strings *operands, struct ft_trace_reader_options *options,
                   struct ft_trace_set **out)
{
    struct ft_progress progress;
    struct ft_trace_set_error error = {0};
    options->progress = show_progress;
    options->progress_context = &progress;
    ft_progress_begin(&progress, "reading", 1);
    int status = ft_trace_set_open(operands->items, operands->count, options, out, &error);
    ft_progress_end(&progress);
    if (status < 0) {
        status = explain(error.path ? error.path : operands->items[0], error.error ? error.error : status);
        free(error.path);
    } else if (ft_trace_set_bytes(*out) == 0) {
        status = ft_cli_fail("%s: the file is empty; nothing was ever written to it",
                             ft_trace_reader_path(ft_trace_set_reader(*out, 0)));
        ft_trace_set_close(*out);
    }
    return status;
}

static int open_set(const struct ft_strings *operands, bool skip_files, struct ft_trace_set **out)
{
    struct ft_trace_reader_options options = {
        .memory_max = ft_read_memory(),
        .rename = ft_functions_rename,
        .skip_set_files = skip_files,
        .defer_names = skip_files,
    };
    return open_as(operands, &options, out);
}

int ft_report_open_numbers(const struct ft_strings *operands, size_t memory_max, struct ft_trace_set **out)
{
    struct ft_trace_reader_options options = {
        .memory_max = memory_max,
        .skip_set_files = true,
        .defer_names = true,
        .numbers_only = true,
    };
    return open_as(operands, &options, out);
}

int ft_report_open_first(const struct ft_strings *operands, struct ft_trace_set **out)
{
    return open_set(operands, true, out);
}

void ft_report_open_rest(struct ft_trace_set *set)
{
    if (ft_trace_set_read_rest(set) < 0) {
        ft_cli_memory(NULL);
    }
    if (ft_trace_set_is_partial(set)) {
        warn_of_damage(set);
    }
    warn_of_left_out(set, true);
}

static int open_and_warn(const struct ft_strings *operands, bool skip_files, struct ft_trace_set **out)
{
    int status = open_set(operands, skip_files, out);
    if (status == FT_STATUS_DONE && ft_trace_set_is_partial(*out)) {
        warn_of_damage(*out);
    }
    if (status == FT_STATUS_DONE) {
        warn_of_left_out(*out, true);
    }
    return status;
}

int ft_report_open(const struct ft_strings *operands, struct ft_trace_set **out)
{
    return open_and_warn(operands, false, out);
}

int ft_report_open_without_files(const struct ft_strings *operands, struct ft_trace_set **out)
{
    return open_and_warn(operands, true, out);
}

static char *name_operands(const struct ft_strings *operands)
{
    char *names = ft_cli_strdup("");
    for (size_t i = 0; i < operands->count && i < TITLE_PATHS_MAX; i++) {
        char *longer = ft_cli_format("%s%s%s", names, i ? ", " : "", operands->items[i]);
        free(names);
        names = longer;
    }
    return names;
}

char *ft_report_title(const struct ft_strings *operands, const char *name, const struct ft_trace_set *set)
{
    size_t files = ft_trace_set_reader_count(set), hosts = ft_trace_set_host_count(set);
    char *names = name ? ft_cli_strdup(name) : name_operands(operands);
    char *shown = ft_text_escape(names, strlen(names), FT_TEXT_SHOW);
    bool has_more = !name && operands->count > TITLE_PATHS_MAX;
    char *title = ft_cli_format("%s%s (%zu %s, %zu %s)", shown, has_more ? ", ..." : "", files,
                                files == 1 ? "file" : "files", hosts, hosts == 1 ? "host" : "hosts");
    free(names);
    free(shown);
    return title;
}

/* Which files a process was told to look at, or to leave out; NULL where it was told of none. */
static const struct ft_tag *find_filter(const struct ft_trace_process *record)
{
    static const struct ft_bytes names[] = {FT_BYTES("FLOWTAP_INCLUDE"), FT_BYTES("FLOWTAP_EXCLUDE")};
    for (size_t i = 0; i < record->claims_count; i++) {
        const struct ft_bytes key = record->claims[i].key;
        for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
            if (key.len == names[n].len && memcmp(key.data, names[n].data, key.len) == 0) {
                return &record->claims[i];
            }
        }
    }
    return NULL;
}

char *ft_report_why_empty(const struct ft_trace_set *set)
{
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        size_t count;
        const struct ft_trace_gap *gaps = ft_trace_reader_gaps(ft_trace_set_reader(set, r), &count);
        if (count > 0) {
            const struct ft_trace_gap *gap = &gaps[0];
            struct ft_bytes what = gap->exe.len                         ? gap->exe
                                   : gap->kind == FT_GAP_DAEMON_STOPPED ? FT_BYTES("all that ran")
                                                                        : FT_BYTES("a program");
            return ft_cli_format("%.*s could not be seen: %s%s%.*s", (int)what.len, what.data, ft_gap_name(gap->kind),
                                 gap->reason.len ? ", " : "", (int)gap->reason.len,
                                 gap->reason.len ? gap->reason.data : "");
        }
    }
    if (ft_trace_set_is_partial(set)) {
        return ft_cli_strdup(ft_trace_set_is_limited(set) ? "what held them did not fit in the reader's memory limit"
                                                          : "what held them is damaged or missing");
    }
    if (ft_trace_set_process_count(set) == 0) {
        return ft_cli_strdup("no process attached: was it started with FLOWTAP=1 and the library in LD_PRELOAD?");
    }
    if (ft_trace_set_profiled(set) > 0) {
        return ft_cli_format("of the %" PRIu64
                             " that there were it has sums alone (mode profile); `flowtap summary`, `files`, "
                             "`processes` and `timeline` tell them",
                             ft_trace_set_profiled(set));
    }
    for (uint32_t p = 0; p < ft_trace_set_process_count(set); p++) {
        if (ft_trace_set_process(set, p)->record->emitted > 0) {
            return ft_cli_strdup("all that the programs did was dropped (see dropped_by_cause)");
        }
    }
    for (uint32_t p = 0; p < ft_trace_set_process_count(set); p++) {
        const struct ft_tag *filter = find_filter(ft_trace_set_process(set, p)->record);
        if (filter) {
            return ft_cli_format("the programs did nothing to a file that is let through by %.*s=%.*s",
                                 (int)filter->key.len, filter->key.data, (int)filter->value.len,
                                 filter->value.len ? filter->value.data : "");
        }
    }
    return ft_cli_strdup("the programs made no call that is recorded");
}

void ft_report_print_empty(const struct ft_trace_set *set, const char *otherwise, FILE *out)
{
    if (ft_trace_set_events(set) > 0) {
        fprintf(out, "nothing to report: %s\n", otherwise);
        return;
    }
    char *why = ft_report_why_empty(set), *shown = ft_text_escape(why, strlen(why), FT_TEXT_SHOW);
    fprintf(out, "0 events, because %s\n", shown);
    free(shown);
    free(why);
}

uint64_t ft_report_dropped(const struct ft_trace_set *set)
{
    uint64_t dropped = 0;
    for (uint32_t p = 0; p < ft_trace_set_process_count(set); p++) {
        const struct ft_trace_process *record = ft_trace_set_process(set, p)->record;
        dropped += ft_job_dropped(record) - record->dropped[FT_CAUSE_CAPPED];
    }
    return dropped;
}

void ft_report_print_left_out(const struct ft_screen *screen, uint64_t profiled, uint64_t dropped)
{
    struct ft_unit_text count;
    if (profiled) {
        ft_screen_print(screen, FT_STYLE_WARN, "%s events of which there are sums alone are not in it.\n",
                        ft_units_count(&count, profiled));
    }
    if (dropped) {
        ft_screen_print(screen, FT_STYLE_WARN, "%s not in it.\n",
                        ft_units_counted(&count, dropped, "event was dropped and is", "events were dropped and are"));
    }
}

void ft_report_warn_of_blocks(const struct ft_trace_set *set, uint64_t bad_blocks)
{
    if (bad_blocks > 0 && !ft_trace_set_is_partial(set)) {
        ft_cli_warn("%llu blocks of events are damaged and were left out (`flowtap verify` tells all)",
                    (unsigned long long)bad_blocks);
    }
}

void ft_report_json_state(struct ft_json *json, struct ft_state state)
{
    ft_json_member_uint(json, "unclosed", state.unclosed);
    ft_json_member_bool(json, "partial", state.is_partial);
}

void ft_report_json_unseen(struct ft_json *json, struct ft_state state)
{
    ft_json_member_uint(json, "dropped", state.dropped);
    ft_json_member_uint(json, "gap_count", state.gap_count);
}

void ft_report_print_gap_count(const struct ft_screen *screen, size_t gap_count)
{
    struct ft_unit_text count;
    if (gap_count) {
        ft_screen_print(screen, FT_STYLE_WARN, "%s: not all could be seen (`flowtap processes` tells what).\n",
                        ft_units_counted(&count, gap_count, "gap", "gaps"));
    }
}

void ft_report_print_unseen(const struct ft_screen *screen, struct ft_state state, uint64_t profiled)
{
    ft_report_print_left_out(screen, profiled, state.dropped);
    ft_report_print_gap_count(screen, state.gap_count);
    ft_report_print_unclosed(screen, state.unclosed);
}

void ft_report_print_unclosed(const struct ft_screen *screen, size_t unclosed)
{
    struct ft_unit_text count;
    if (unclosed) {
        fprintf(screen->out, "%s %s still open: a daemon writes there now, or was killed.\n",
                ft_units_count(&count, unclosed), unclosed == 1 ? "file is" : "files are");
    }
}
