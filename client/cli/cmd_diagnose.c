// SPDX-License-Identifier: MIT
/* flowtap diagnose: what could be better about a job's I/O. */
#include <inttypes.h>
#include <stdlib.h>

#include "client/cli/cli.h"
#include "client/cli/diagnose.h"
#include "client/cli/report.h"

struct values {
    bool as_json, only_checks;
};

static const struct ft_option options[] = {
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document", offsetof(struct values, as_json), NULL},
    {FT_OPTION_FLAG, 0, "checks", NULL, "print the checks and their limits, read no trace",
     offsetof(struct values, only_checks), NULL},
};

static void print_checks_json(void)
{
    struct ft_json json;
    ft_json_init(&json, stdout, true);
    ft_json_begin_object(&json);
    ft_json_key(&json, "checks");
    ft_json_begin_array(&json);
    for (size_t i = 0; i < ft_diagnose_check_count; i++) {
        ft_json_begin_object(&json);
        ft_json_member_string(&json, "name", ft_diagnose_checks[i].name);
        ft_json_member_string(&json, "title", ft_diagnose_checks[i].title);
        ft_json_member_string(&json, "advice", ft_diagnose_checks[i].advice);
        ft_json_end_object(&json);
    }
    ft_json_end_array(&json);
    ft_json_key(&json, "limits");
    ft_json_begin_array(&json);
    for (size_t i = 0; i < FT_LIMIT_COUNT; i++) {
        ft_json_begin_object(&json);
        ft_json_member_string(&json, "name", ft_diagnose_limits[i].name);
        ft_json_member_uint(&json, "value", ft_diagnose_limits[i].value);
        ft_json_member_string(&json, "reason", ft_diagnose_limits[i].reason);
        ft_json_end_object(&json);
    }
    ft_json_end_array(&json);
    ft_json_end_object(&json);
    ft_json_end_line(&json);
    ft_json_flush(&json);
}

static void print_checks(void)
{
    printf("checks:\n");
    for (size_t i = 0; i < ft_diagnose_check_count; i++) {
        printf("  %-18s %s\n", ft_diagnose_checks[i].name, ft_diagnose_checks[i].title);
    }
    printf("\nlimits:\n");
    for (size_t i = 0; i < FT_LIMIT_COUNT; i++) {
        printf("  %-18s %10" PRIu64 "  %s\n", ft_diagnose_limits[i].name, ft_diagnose_limits[i].value,
               ft_diagnose_limits[i].reason);
    }
}

static void report(const struct values *values, const struct ft_strings *operands, const struct ft_trace_set *set)
{
    struct ft_diagnose diagnose;
    size_t count;
    ft_diagnose_read(&diagnose, set);
    struct ft_diagnose_finding *findings = ft_diagnose_find(&diagnose, operands, &count);
    struct ft_state state = ft_state_of(set, diagnose.bad_blocks);
    if (values->as_json) {
        ft_diagnose_print_json(&diagnose, findings, count, state, stdout);
    } else if (ft_trace_set_events(set) == 0) {
        ft_report_print_empty(set, "no event was found", stdout);
    } else {
        char *title = ft_report_title(operands, NULL, set);
        ft_diagnose_print_text(&diagnose, findings, count, title, state, stdout);
        free(title);
    }
    ft_report_warn_of_blocks(set, diagnose.bad_blocks);
    ft_diagnose_free(findings, count);
    ft_diagnose_fini(&diagnose);
}

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    const struct values *values = values_untyped;
    struct ft_trace_set *set;
    if (values->only_checks) {
        values->as_json ? print_checks_json() : print_checks();
        return ft_cli_finish_output(FT_STATUS_DONE);
    }
    if (operands->count == 0) {
        return ft_cli_fail_usage("which trace? name a file or a folder");
    }
    if (ft_report_open(operands, &set) != FT_STATUS_DONE) {
        return FT_STATUS_FAILED;
    }
    report(values, operands, set);
    ft_trace_set_close(set);
    return ft_cli_finish_output(FT_STATUS_DONE);
}

const struct ft_command ft_command_diagnose = {
    .name = "diagnose",
    .arguments = "PATH...",
    .summary = "what could be better, with evidence and advice",
    .details = "PATH is a trace file or a folder of them; several are read as one job.",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .operands_max = FT_OPTIONS_ALL,
    .values_bytes = sizeof(struct values),
    .run = run,
};
