// SPDX-License-Identifier: MIT
/* flowtap verify: checks every frame, every column and the accounts; exit 1 where something is damaged. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "client/cli/analysis_job.h"
#include "client/cli/cli.h"
#include "client/cli/progress.h"
#include "client/cli/report.h"
#include "client/cli/table.h"
#include "client/cli/units.h"

struct values {
    bool as_json;
};

static const struct ft_option options[] = {
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document", offsetof(struct values, as_json), NULL},
};

/* Where findings go: exactly one of the two is used. */
struct output {
    struct ft_json *json;
    const struct ft_screen *screen;
    bool has_damage;
};

static void tell(struct output *output, const struct ft_trace_problem *problems, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        output->has_damage |= ft_problem_is_damage(problems[i].kind);
        if (output->json) {
            ft_report_json_problem(output->json, &problems[i]);
        } else {
            ft_report_print_problem(output->screen, &problems[i]);
        }
    }
}

/* `kind` is FT_TRACE_PROFILE where the blocks are PROFILE frames. */
static void check_blocks(struct output *output, const struct ft_trace_reader *reader, struct ft_trace_decoder *decoder,
                         size_t kind, const struct ft_trace_block *blocks, size_t count, struct ft_progress *progress)
{
    size_t problem_count;
    for (size_t b = 0; b < count; b++) {
        const struct ft_trace_problem *problems;
        if (!ft_cli_decoded(ft_trace_decoder_verify(decoder, reader, kind | b, &problems, &problem_count))) {
            struct ft_trace_problem unreadable = {
                .kind = FT_PROBLEM_BAD_BLOCK, .offset = blocks[b].offset, .count = blocks[b].rows};
            tell(output, &unreadable, 1);
        } else {
            tell(output, problems, problem_count);
        }
        ft_progress_step(progress, blocks[b].rows);
    }
}

static void check_file(struct output *output, const struct ft_trace_reader *reader, struct ft_trace_decoder *decoder,
                       struct ft_progress *progress)
{
    size_t count, block_count, profile_count;
    const struct ft_trace_problem *problems = ft_trace_reader_problems(reader, &count);
    const struct ft_trace_block *blocks = ft_trace_reader_blocks(reader, &block_count);
    const struct ft_trace_block *profiles = ft_trace_reader_profiles(reader, &profile_count);
    struct output of_file = {.json = output->json, .screen = output->screen};
    const char *path = ft_trace_reader_path(reader);
    if (output->json) {
        ft_json_begin_object(output->json);
        ft_json_member_text(output->json, "path", path, strlen(path));
        ft_json_member_uint(output->json, "events", ft_trace_reader_events(reader));
        ft_json_member_bool(output->json, "closed", ft_trace_reader_is_closed(reader));
        ft_json_key(output->json, "problems");
        ft_json_begin_array(output->json);
    } else {
        struct ft_unit_text events;
        ft_screen_print_names(output->screen, FT_STYLE_TITLE, "%s", path);
        fprintf(output->screen->out, ": %s\n",
                ft_units_counted(&events, ft_trace_reader_events(reader), "event", "events"));
    }
    tell(&of_file, problems, count);
    check_blocks(&of_file, reader, decoder, 0, blocks, block_count, progress);
    check_blocks(&of_file, reader, decoder, FT_TRACE_PROFILE, profiles, profile_count, progress);
    if (output->json) {
        ft_json_end_array(output->json);
        ft_json_member_bool(output->json, "ok", !of_file.has_damage);
        ft_json_end_object(output->json);
    } else if (!of_file.has_damage) {
        fprintf(output->screen->out, "  sound\n");
    }
    output->has_damage |= of_file.has_damage;
}

static void tell_account(struct output *output, const struct ft_trace_set_process *process, uint64_t rows)
{
    const struct ft_trace_process *record = process->record;
    uint64_t dropped = ft_job_dropped(record);
    output->has_damage = true;
    if (output->json) {
        ft_json_begin_object(output->json);
        ft_json_member_uint(output->json, "pid", record->pid);
        ft_json_member_uint(output->json, "emitted", record->emitted);
        ft_json_member_uint(output->json, "stored", rows);
        ft_json_member_uint(output->json, "dropped", dropped);
        ft_json_end_object(output->json);
    } else {
        fprintf(output->screen->out,
                "process %u: emitted %" PRIu64 ", but %" PRIu64 " events are here and %" PRIu64 " were dropped\n",
                record->pid, record->emitted, rows, dropped);
    }
}

/* emitted = stored + dropped for each process, where all of its files are here and their ends are told. */
static void check_accounts(struct output *output, const struct ft_trace_set *set)
{
    struct ft_scan scan;
    bool is_whole = !ft_trace_set_is_partial(set);
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        is_whole &= ft_trace_set_is_ended(set, r);
    }
    if (output->json) {
        ft_json_key(output->json, "accounts");
        ft_json_begin_array(output->json);
    }
    ft_scan_read(&scan, set, FT_SCAN_PROCESSES, NULL);
    for (uint32_t p = 0; is_whole && scan.bad_blocks == 0 && p < ft_trace_set_process_count(set); p++) {
        const struct ft_trace_set_process *process = ft_trace_set_process(set, p);
        if (process->record->emitted != scan.processes[p].events + ft_job_dropped(process->record)) {
            tell_account(output, process, scan.processes[p].events);
        }
    }
    ft_scan_fini(&scan);
    if (output->json) {
        ft_json_end_array(output->json);
    }
}

static void tell_unreadable(struct output *output, const struct ft_trace_set *set)
{
    const char *const *paths;
    size_t count = ft_trace_set_unreadable(set, &paths);
    for (size_t i = 0; i < count; i++) {
        output->has_damage = true;
        if (output->json) {
            ft_json_text(output->json, paths[i], strlen(paths[i]));
        } else {
            ft_screen_print_names(output->screen, FT_STYLE_NONE, "%s: not readable as a trace", paths[i]);
            fputc('\n', output->screen->out);
        }
    }
}

static void check_set(struct output *output, const struct ft_trace_set *set, struct ft_trace_decoder *decoder)
{
    struct ft_progress progress;
    if (output->json) {
        ft_json_begin_object(output->json);
        ft_json_key(output->json, "files");
        ft_json_begin_array(output->json);
    }
    ft_progress_begin(&progress, "checking", ft_trace_set_events(set));
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        check_file(output, ft_trace_set_reader(set, r), decoder, &progress);
    }
    ft_progress_end(&progress);
    if (output->json) {
        ft_json_end_array(output->json);
        ft_json_key(output->json, "unreadable");
        ft_json_begin_array(output->json);
    }
    tell_unreadable(output, set);
    if (output->json) {
        ft_json_end_array(output->json);
    }
    check_accounts(output, set);
    if (output->json) {
        ft_json_member_bool(output->json, "ok", !output->has_damage);
        ft_json_end_object(output->json);
        ft_json_end_line(output->json);
        ft_json_flush(output->json);
    }
}

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    const struct values *values = values_untyped;
    struct ft_trace_set *set;
    struct ft_trace_decoder *decoder;
    struct ft_screen screen;
    struct ft_json json;
    struct output output = {.json = values->as_json ? &json : NULL, .screen = &screen};
    if (ft_report_open_quietly(operands, &set) != FT_STATUS_DONE) {
        return FT_STATUS_FAILED;
    }
    int status = ft_trace_decoder_create(&decoder);
    if (status < 0) {
        ft_trace_set_close(set);
        return ft_cli_fail("cannot decode events: %s", strerror(-status));
    }
    ft_screen_init(&screen, stdout);
    ft_json_init(&json, stdout, true);
    check_set(&output, set, decoder);
    ft_trace_decoder_destroy(decoder);
    ft_trace_set_close(set);
    status = ft_cli_finish_output(FT_STATUS_DONE);
    if (output.has_damage) {
        return ft_cli_fail("%s: damaged; what is whole can still be read by the other commands", operands->items[0]);
    }
    return status;
}

const struct ft_command ft_command_verify = {
    .name = "verify",
    .summary = "check all of a trace; exit 1 where it is damaged",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    FT_COMMAND_READS_TRACES,
    .values_bytes = sizeof(struct values),
    .run = run,
};
