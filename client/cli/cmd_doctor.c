// SPDX-License-Identifier: MIT
/* flowtap doctor: why a trace is or would be empty or incomplete. */
#include <stdlib.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/doctor.h"
#include "proto/policy.pb-c.h"
#include "proto/status.pb-c.h"

extern char **environ;

struct values {
    const char *trace, *output;
    bool as_json, is_verbose;
};

static const struct ft_option options[] = {
    {FT_OPTION_STRING, 't', "trace", "PATH", "explain this trace (a file or a folder) instead",
     offsetof(struct values, trace), NULL},
    {FT_OPTION_STRING, 'o', "output", "DIR", "the folder that `flowtap run` shall write to (default: the current one)",
     offsetof(struct values, output), NULL},
    {FT_OPTION_FLAG, 'v', "verbose", NULL, "print what is well too", offsetof(struct values, is_verbose), NULL},
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document", offsetof(struct values, as_json), NULL},
};

/* When a check runs: always but for a trace, without a command, with one, for a trace. */
enum when { OF_SETUP, OF_SETUP_ALONE, OF_COMMAND, OF_TRACE };

/* In this order: each may use what those before it learned. */
static const struct check {
    const char *name;
    enum when when;
    ft_doctor_check *run;
} checks[] = {
    {"kernel", OF_SETUP, ft_doctor_kernel},
    {"limits", OF_SETUP, ft_doctor_limits},
    {"memory", OF_SETUP, ft_doctor_memory},
    {"sandbox", OF_SETUP, ft_doctor_sandbox},
    {"clock", OF_SETUP, ft_doctor_clock},
    {"daemon", OF_SETUP, ft_doctor_daemon},
    {"library", OF_SETUP, ft_doctor_library},
    {"preload", OF_SETUP, ft_doctor_preload},
    {"names", OF_SETUP, ft_doctor_names},
    {"settings", OF_SETUP, ft_doctor_settings},
    {"environment", OF_SETUP, ft_doctor_environment},
    {"socket", OF_SETUP, ft_doctor_socket},
    {"policy", OF_SETUP, ft_doctor_policy},
    {"filters", OF_SETUP, ft_doctor_filters},
    {"attached", OF_SETUP, ft_doctor_attached},
    {"spool", OF_SETUP, ft_doctor_spool},
    {"output", OF_SETUP, ft_doctor_output},
    {"work", OF_SETUP, ft_doctor_work},
    {"command", OF_COMMAND, ft_doctor_command},
    {"try", OF_SETUP_ALONE, ft_doctor_try},
    {"trace", OF_TRACE, ft_doctor_trace},
};

static bool is_asked_for(const struct ft_doctor *doctor, enum when when)
{
    switch (when) {
    case OF_SETUP:
        return !doctor->trace;
    case OF_SETUP_ALONE:
        return !doctor->trace && doctor->command->count == 0;
    case OF_COMMAND:
        return doctor->command->count > 0;
    case OF_TRACE:
        return doctor->trace;
    }
    return false;
}

static void release(struct ft_doctor *doctor, char *cwd)
{
    ft_doctor_release_findings(doctor);
    if (doctor->status) {
        flowtap__status__free_unpacked(doctor->status, NULL);
    }
    if (doctor->policy) {
        flowtap__policy__free_unpacked(doctor->policy, NULL);
    }
    free(doctor);
    free(cwd);
}

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    const struct values *values = values_untyped;
    if (values->trace && (operands->count > 0 || values->output)) {
        return ft_cli_fail_usage("--trace goes with neither a command nor --output");
    }
    if (values->trace && !*values->trace) {
        return ft_cli_fail_usage("--trace wants a path, not ''");
    }
    if (operands->count > 0 && !*operands->items[0]) {
        return ft_cli_fail_usage("the command's name is empty");
    }
    struct ft_doctor *doctor = ft_cli_alloc(sizeof(*doctor));
    char *cwd = getcwd(NULL, 0);
    doctor->cwd = cwd && cwd[0] == '/' ? cwd : NULL; /* not "(unreachable)..." */
    doctor->command = operands;
    doctor->trace = values->trace;
    doctor->output = values->output;
    doctor->is_verbose = values->is_verbose;
    ft_doctor_read_settings(doctor, environ);
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        if (is_asked_for(doctor, checks[i].when)) {
            doctor->check = checks[i].name;
            checks[i].run(doctor);
        }
    }
    values->as_json ? ft_doctor_print_json(doctor) : ft_doctor_print_text(doctor);
    int status = ft_cli_finish_output(doctor->problem_count > 0 ? FT_STATUS_FAILED : FT_STATUS_DONE);
    release(doctor, cwd);
    return status;
}

const struct ft_command ft_command_doctor = {
    .name = "doctor",
    .arguments = "[-- COMMAND [ARG]...]",
    .summary = "why a trace is or would be empty or incomplete",
    .details = "Looks at the installation, the environment, the service and what else tracing needs,\n"
               "and traces a program of its own for a try. With COMMAND it looks at that instead of\n"
               "trying, and does not run it. With --trace it explains what a trace lacks. One line a\n"
               "finding; exit 1 where something makes a trace empty or incomplete.",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .operands_max = FT_OPTIONS_ALL,
    .ends_at_operand = true,
    .values_bytes = sizeof(struct values),
    .run = run,
};
