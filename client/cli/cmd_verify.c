// SPDX-License-Identifier: MIT
/*
 * flowtap verify: checks every frame, every column and the accounts; exit 1 where something is damaged.
 *
 * Each file is opened alone, so that a folder may hold any number of them. For what takes all files together, the
 * accounts and which file goes on from which, there is a set with the numbers alone of their records.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_accounts.h"
#include "client/cli/analysis_job.h"
#include "client/cli/cli.h"
#include "client/cli/progress.h"
#include "client/cli/read_memory.h"
#include "client/cli/report.h"
#include "client/cli/table.h"
#include "client/cli/units.h"
#include "client/cli/verify.h"

struct values {
    bool as_json;
};

static const struct ft_option options[] = {
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document", offsetof(struct values, as_json), NULL},
};

/* What checking takes beside the output. */
struct check {
    const struct ft_trace_set *set; /* numbers alone */
    struct ft_trace_decoder *decoder;
    struct ft_accounts accounts;
    struct ft_progress progress;
    size_t memory_max; /* for one file */
};

/* Files that were of the set, and cannot be opened any more. */
struct gone {
    struct {
        const char *path;
        int error;
    } *files;
    size_t count;
};

/* For a file that is no part of the set: its events are in no account. */
#define NO_PART SIZE_MAX

/* Of the memory that there is, the set may take the half. */
enum { SET_PART = 2 };

static void tell(struct ft_verify_output *output, const struct ft_trace_problem *problems, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        output->has_damage |= ft_problem_is_damage(problems[i].kind);
        output->is_partial |= problems[i].kind == FT_PROBLEM_LIMIT;
        output->found++;
        if (output->listed == FT_TRACE_PROBLEMS_MAX) {
            output->left_out[problems[i].kind]++;
            continue;
        }
        output->listed++;
        if (output->json) {
            ft_report_json_problem(output->json, &problems[i]);
        } else {
            ft_report_print_problem(output->screen, &problems[i]);
        }
    }
}

/* `kind` is FT_TRACE_PROFILE where the blocks are PROFILE frames. */
static void check_blocks(struct ft_verify_output *output, struct check *check, size_t r,
                         const struct ft_trace_reader *reader, size_t kind, const struct ft_trace_block *blocks,
                         size_t count)
{
    for (size_t b = 0; b < count; b++) {
        struct ft_trace_problem unreadable = {
            .kind = FT_PROBLEM_BAD_BLOCK, .offset = blocks[b].offset, .count = blocks[b].rows};
        const struct ft_trace_problem *problems = &unreadable;
        size_t problem_count = 1;
        (void)ft_cli_decoded(ft_trace_decoder_verify(check->decoder, reader, kind | b, &problems, &problem_count));
        tell(output, problems, problem_count);
        ft_progress_step(&check->progress, blocks[b].rows);
        if (r == NO_PART) {
            continue;
        }
        if (problem_count > 0 && problems[0].kind == FT_PROBLEM_BAD_BLOCK) {
            check->accounts.has_all = false;
        } else {
            ft_accounts_add(&check->accounts, check->decoder, r, reader, kind | b);
        }
    }
}

static void begin_file(const struct ft_verify_output *output, const struct ft_trace_reader *reader, const char *copy_of)
{
    const char *path = ft_trace_reader_path(reader);
    if (output->json) {
        ft_json_begin_object(output->json);
        ft_json_member_text(output->json, "path", path, strlen(path));
        ft_json_member_uint(output->json, "events", ft_trace_reader_events(reader));
        ft_json_member_uint(output->json, "profiled", ft_trace_reader_profiled(reader));
        ft_json_member_bool(output->json, "closed", ft_trace_reader_is_closed(reader));
        if (copy_of) {
            ft_json_member_text(output->json, "copy_of", copy_of, strlen(copy_of));
        }
        ft_json_key(output->json, "problems");
        ft_json_begin_array(output->json);
    } else {
        struct ft_unit_text events;
        ft_screen_print_names(output->screen, FT_STYLE_TITLE, "%s", path);
        fprintf(output->screen->out, ": %s",
                ft_units_counted(&events, ft_trace_reader_events(reader), "event", "events"));
        if (ft_trace_reader_profiled(reader)) {
            fprintf(output->screen->out, ", sums alone of %s",
                    ft_units_count(&events, ft_trace_reader_profiled(reader)));
        }
        fputc('\n', output->screen->out);
        if (copy_of) {
            ft_screen_print_names(output->screen, FT_STYLE_NONE, "  note: a copy of %s, which alone is read", copy_of);
            fputc('\n', output->screen->out);
        }
    }
}

static void print_left_out(const struct ft_verify_output *output)
{
    struct ft_unit_text count;
    for (unsigned kind = 0; kind < FT_PROBLEM_END; kind++) {
        if (output->left_out[kind] > 0) {
            ft_screen_print(output->screen, ft_problem_is_partial(kind) ? FT_STYLE_WARN : FT_STYLE_NONE,
                            "  %s: %s, %s more\n", ft_problem_severity(kind), ft_problem_text(kind),
                            ft_units_count(&count, output->left_out[kind]));
        }
    }
}

static void end_file(const struct ft_verify_output *output)
{
    if (output->json) {
        ft_json_end_array(output->json);
        ft_json_member_uint(output->json, "problems_found", output->found);
        ft_json_member_bool(output->json, "ok", !output->has_damage && !output->is_partial);
        ft_json_member_bool(output->json, "partial", output->is_partial);
        ft_json_end_object(output->json);
        return;
    }
    print_left_out(output);
    if (!output->has_damage) {
        fprintf(output->screen->out, output->is_partial ? "  sound as far as it could be read\n" : "  sound\n");
    }
}

static void check_reader(struct ft_verify_output *output, struct check *check, size_t r,
                         const struct ft_trace_reader *reader, const char *copy_of)
{
    size_t count, block_count, profile_count;
    const struct ft_trace_problem *problems = ft_trace_reader_problems(reader, &count);
    const struct ft_trace_block *blocks = ft_trace_reader_blocks(reader, &block_count);
    const struct ft_trace_block *profiles = ft_trace_reader_profiles(reader, &profile_count);
    struct ft_verify_output of_file = {.json = output->json, .screen = output->screen};
    begin_file(output, reader, copy_of);
    tell(&of_file, problems, count);
    for (size_t i = 0; i < count; i++) {
        of_file.found += problems[i].count - 1; /* those the reader did not keep */
    }
    check_blocks(&of_file, check, r, reader, 0, blocks, block_count);
    check_blocks(&of_file, check, r, reader, FT_TRACE_PROFILE, profiles, profile_count);
    end_file(&of_file);
    output->has_damage |= of_file.has_damage;
    output->is_partial |= of_file.is_partial;
}

/* 0, or -errno where it cannot be opened any more. */
static int check_file(struct ft_verify_output *output, struct check *check, size_t r, const char *path,
                      const char *copy_of)
{
    struct ft_trace_reader_options alone = {.memory_max = check->memory_max};
    struct ft_trace_reader *reader;
    int status = ft_trace_reader_open(path, &alone, &reader);
    if (!ft_cli_decoded(status)) {
        return status;
    }
    ft_trace_set_explain(check->set, r, reader);
    check_reader(output, check, r, reader, copy_of);
    ft_trace_reader_close(reader);
    return 0;
}

static void tell_unreadable_file(struct ft_verify_output *output, uint64_t *found, const char *path, int error)
{
    output->has_damage = true;
    if (!ft_verify_may_list(found)) {
        return;
    }
    if (output->json) {
        ft_json_text(output->json, path, strlen(path));
    } else {
        ft_screen_print_names(output->screen, FT_STYLE_NONE, "%s: %s", path, ft_trace_set_unreadable_text(error));
        fputc('\n', output->screen->out);
    }
}

/* Those that are no trace, and those that are none any more. */
static void tell_unreadable(struct ft_verify_output *output, const struct check *check, const struct gone *gone)
{
    size_t count;
    uint64_t found = 0;
    if (output->json) {
        ft_json_key(output->json, "unreadable");
        ft_json_begin_array(output->json);
    }
    const struct ft_trace_set_unreadable *unreadable = ft_trace_set_unreadable(check->set, &count);
    for (size_t i = 0; i < count; i++) {
        tell_unreadable_file(output, &found, unreadable[i].path, unreadable[i].error);
    }
    for (size_t i = 0; i < gone->count; i++) {
        tell_unreadable_file(output, &found, gone->files[i].path, gone->files[i].error);
    }
    if (output->json) {
        ft_json_end_array(output->json);
    }
    ft_verify_tell_found(output, "unreadable_found", found, "file more cannot be read", "files more cannot be read");
}

static void check_or_miss(struct ft_verify_output *output, struct check *check, size_t r, const char *path,
                          const char *copy_of, struct gone *gone)
{
    int status = check_file(output, check, r, path, copy_of);
    if (status < 0) {
        check->accounts.has_all &= r == NO_PART;
        gone->files[gone->count].path = path;
        gone->files[gone->count++].error = status;
    }
}

static void check_files(struct ft_verify_output *output, struct check *check, struct gone *gone)
{
    size_t left_out_count, parts = ft_trace_set_reader_count(check->set);
    const struct ft_trace_set_left_out *left_out = ft_trace_set_left_out(check->set, &left_out_count);
    gone->files = ft_cli_alloc((parts + left_out_count) * sizeof(*gone->files));
    ft_progress_begin(&check->progress, "checking", ft_trace_set_events(check->set));
    for (size_t r = 0; r < parts; r++) {
        check_or_miss(output, check, r, ft_trace_reader_path(ft_trace_set_reader(check->set, r)), NULL, gone);
    }
    for (size_t i = 0; i < left_out_count; i++) {
        check_or_miss(output, check, NO_PART, left_out[i].path, left_out[i].copy_of, gone);
    }
    ft_progress_end(&check->progress);
}

static void check_set(struct ft_verify_output *output, struct check *check)
{
    struct gone gone = {0};
    if (output->json) {
        ft_json_begin_object(output->json);
        ft_json_key(output->json, "files");
        ft_json_begin_array(output->json);
    }
    check_files(output, check, &gone);
    if (output->json) {
        ft_json_end_array(output->json);
    }
    tell_unreadable(output, check, &gone);
    free(gone.files);
    ft_verify_tell_accounts(output, &check->accounts);
    if (output->json) {
        ft_json_member_bool(output->json, "ok", !output->has_damage && !output->is_partial);
        ft_json_member_bool(output->json, "partial", output->is_partial);
        ft_json_end_object(output->json);
        ft_json_end_line(output->json);
        ft_json_flush(output->json);
    }
}

/* The exit status, and its line. */
static int judge(const struct ft_verify_output *output, const char *path)
{
    if (output->has_damage) {
        return ft_cli_fail("%s: damaged; what is whole can still be read by the other commands", path);
    }
    if (output->is_partial) {
        return ft_cli_fail("%s: no damage was found, but not all could be checked: %s (%s)", path,
                           ft_problem_text(FT_PROBLEM_LIMIT), ft_read_memory_advice());
    }
    return FT_STATUS_DONE;
}

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    const struct values *values = values_untyped;
    size_t memory = ft_read_memory(), used;
    struct ft_trace_set *set;
    struct check check;
    struct ft_screen screen;
    struct ft_json json;
    struct ft_verify_output output = {.json = values->as_json ? &json : NULL, .screen = &screen};
    if (ft_report_open_numbers(operands, memory / SET_PART + 1, &set) != FT_STATUS_DONE) {
        return FT_STATUS_FAILED;
    }
    used = ft_trace_set_memory(set);
    check.set = set;
    check.memory_max = used < memory - memory / SET_PART ? memory - used : memory / SET_PART + 1;
    int status = ft_trace_decoder_create(&check.decoder);
    if (status < 0) {
        ft_trace_set_close(set);
        return ft_cli_fail("cannot decode events: %s", strerror(-status));
    }
    ft_accounts_init(&check.accounts, set);
    ft_screen_init(&screen, stdout);
    ft_json_init(&json, stdout, true);
    check_set(&output, &check);
    ft_accounts_fini(&check.accounts);
    ft_trace_decoder_destroy(check.decoder);
    ft_trace_set_close(set);
    status = ft_cli_finish_output(FT_STATUS_DONE);
    return status == FT_STATUS_DONE ? judge(&output, operands->items[0]) : status;
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
