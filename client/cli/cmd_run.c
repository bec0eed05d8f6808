// SPDX-License-Identifier: MIT
/* flowtap run: traces one command, whose input, output and status stay its own. */
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/elf.h"
#include "client/cli/read_memory.h"
#include "client/cli/run_child.h"
#include "client/cli/run_daemon.h"
#include "client/cli/run_environment.h"
#include "client/cli/run_paths.h"
#include "client/cli/summary.h"

extern char **environ;

struct values {
    const char *output;
    struct ft_strings tags, include, exclude;
    bool follows_clean_env;
    bool is_quiet;
};

static const struct values defaults = {.follows_clean_env = true};

static const struct ft_option options[] = {
    {FT_OPTION_STRING, 'o', "output", "DIR", "folder for the trace (default: flowtap-COMMAND-PID)",
     offsetof(struct values, output), NULL},
    {FT_OPTION_LIST, 0, "tag", "K=V", "a tag for all of the job's processes", offsetof(struct values, tags), NULL},
    {FT_OPTION_LIST, 0, "include", "GLOB", "record only files whose path matches", offsetof(struct values, include),
     NULL},
    {FT_OPTION_LIST, 0, "exclude", "GLOB", "do not record files whose path matches", offsetof(struct values, exclude),
     NULL},
    {FT_OPTION_NO, 0, "no-follow-clean-env", NULL, "a child whose environment was cleaned stays untraced",
     offsetof(struct values, follows_clean_env), NULL},
    {FT_OPTION_FLAG, 'q', "quiet", NULL, "print no summary at the end", offsetof(struct values, is_quiet), NULL},
};

static int check_words(const struct values *values)
{
    if (values->output && !*values->output) {
        return ft_cli_fail_usage("--output wants a folder, not an empty word");
    }
    for (size_t i = 0; i < values->tags.count; i++) {
        const char *tag = values->tags.items[i], *equals = strchr(tag, '=');
        if (!equals || equals == tag) {
            return ft_cli_fail_usage("--tag wants KEY=VALUE, not '%s'", tag);
        }
        if (strchr(tag, ',')) {
            return ft_cli_fail_usage("a tag cannot hold a comma: '%s'", tag);
        }
    }
    const struct ft_strings *lists[] = {&values->include, &values->exclude};
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < lists[k]->count; i++) {
            if (lists[k]->items[i][0] == '\0' || strchr(lists[k]->items[i], ':')) {
                return ft_cli_fail_usage("--%s wants a pattern without a colon, not '%s'", k ? "exclude" : "include",
                                         lists[k]->items[i]);
            }
        }
    }
    return FT_STATUS_DONE;
}

static char *default_folder(const char *command)
{
    char *copy = ft_cli_strdup(command);
    char *folder = ft_cli_format("flowtap-%s-%ld", basename(copy), (long)getpid());
    free(copy);
    return folder;
}

static void make_environment(struct ft_environment *environment, const struct values *values,
                             const struct ft_run_paths *paths)
{
    ft_environment_init(environment, environ);
    char *preload = ft_environment_preload(ft_environment_get(environment, "LD_PRELOAD"), paths->library);
    ft_environment_set(environment, "LD_PRELOAD", preload);
    ft_environment_set(environment, "FLOWTAP", "1");
    ft_environment_set(environment, "FLOWTAP_SOCKET", paths->socket);
    ft_environment_join(environment, "FLOWTAP_TAGS", &values->tags, ',');
    ft_environment_join(environment, "FLOWTAP_INCLUDE", &values->include, ':');
    ft_environment_join(environment, "FLOWTAP_EXCLUDE", &values->exclude, ':');
    free(preload);
}

/* Why nothing was recorded, as far as the environment and the program's file tell; NULL: they do not. */
static const char *why_untraceable(const struct ft_elf *elf)
{
    const char *mode = getenv("FLOWTAP_MODE");
    if (mode && strcmp(mode, "off") == 0) {
        return "FLOWTAP_MODE is off";
    }
    if (elf->secure_why) {
        return "it runs with more rights than its caller (set-user-ID, set-group-ID or capabilities)";
    }
    if (elf->kind == FT_ELF_STATIC) {
        return "it is linked statically, so that no library can be loaded into it";
    }
    if (elf->kind == FT_ELF_FOREIGN) {
        return "it is made for another architecture than this library";
    }
    if (elf->kind == FT_ELF_OTHER_LIBC) {
        return "it is built for another C library than glibc";
    }
    return NULL;
}

static void remove_traces(const struct ft_strings *own)
{
    for (size_t i = 0; i < own->count; i++) {
        unlink(own->items[i]);
    }
}

/* The command that says more of why nothing was recorded; a new string. */
static char *doctor_of(const char *command)
{
    bool is_plain = !command[strcspn(command, " \t\n'\"\\$&|;<>()*?[]`")];
    return is_plain ? ft_cli_format("flowtap doctor -- %s", command) : ft_cli_strdup("flowtap doctor -- COMMAND");
}

/* What is said when the command has ended, or could not be run. */
static void report(const struct values *values, const struct ft_run_paths *paths, struct ft_run_daemon *daemon,
                   const char *command, const struct ft_elf *elf, int exec_error)
{
    struct ft_strings own = {0};
    char *doctor = doctor_of(command);
    signal(SIGPIPE, SIG_IGN); /* who reads no summary changes no status: that is the command's */
    ft_run_daemon_files(daemon, &own);
    if (exec_error) {
        ft_cli_fail("cannot run %s: %s", command, strerror(exec_error));
        remove_traces(&own);
    } else if (own.count == 0 && daemon->pid) {
        /* It has not ended, and may make one yet: that is said. */
    } else if (own.count == 0) {
        const char *why = why_untraceable(elf);
        ft_cli_warn("%s: 0 events, because %s (`%s` says more)", command, why ? why : "no process of it attached",
                    doctor);
    } else if (!values->is_quiet) {
        struct ft_summary_look look = {
            .title = paths->trace, .why_empty = why_untraceable(elf), .doctor = doctor, .top = 5};
        ft_read_memory_forgive();
        ft_summary_show(&own, stderr, &look);
        if (paths->has_traces) {
            ft_cli_warn(
                "%s held traces of earlier runs: reports of the folder take all as one job; this run's begin with %s",
                paths->trace, own.items[0]);
        }
    }
    for (size_t i = 0; i < own.count; i++) {
        free((void *)(uintptr_t)own.items[i]);
    }
    free(own.items);
    free(doctor);
}

/* The daemon listens; from here on the command is run whatever happens. */
static int run_command(const struct values *values, const struct ft_strings *operands, const struct ft_run_paths *paths,
                       const char *program, struct ft_run_daemon *daemon)
{
    char error[PATH_MAX + 256];
    struct ft_environment environment;
    struct ft_elf elf = {0};
    struct ft_run_child child = {0};
    if (*program) {
        ft_elf_look(program, &elf);
    }
    make_environment(&environment, values, paths);
    char **argv = ft_cli_alloc((operands->count + 1) * sizeof(*argv));
    memcpy(argv, operands->items, operands->count * sizeof(*argv));
    int started = ft_run_child(&child, argv, environment.items, daemon);
    int ended = ft_run_daemon_end(daemon, started == 0 ? &child.signals : NULL, error, sizeof(error));
    if (started == 0) {
        ft_run_child_reap(&child);
    }
    if (started < 0) {
        child.status = ft_cli_fail("cannot run %s: %s", argv[0], strerror(-started));
    } else {
        report(values, paths, daemon, argv[0], &elf, child.exec_error);
    }
    if (ended < 0) {
        ft_cli_warn("%s", error);
    }
    free(argv);
    ft_environment_fini(&environment);
    return child.status;
}

/* What keeps us from tracing (limits, no memory, no folder for the socket) is no reason not to run it. Where there can be
 * no other process it takes our place. */
static int run_untraced(const struct ft_strings *operands)
{
    struct ft_run_daemon none = {0};
    struct ft_run_child child = {0};
    char **argv = ft_cli_alloc((operands->count + 1) * sizeof(*argv));
    memcpy(argv, operands->items, operands->count * sizeof(*argv));
    if (ft_run_child(&child, argv, environ, &none) == 0) {
        ft_run_child_reap(&child);
        if (child.exec_error) {
            ft_cli_fail("cannot run %s: %s", argv[0], strerror(child.exec_error));
        }
        free(argv);
        return child.status;
    }
    ft_cli_give_back_file_limit();
    execvp(argv[0], argv);
    int error = errno;
    ft_cli_ignore_file_limit();
    ft_cli_fail("cannot run %s: %s", argv[0], strerror(error));
    free(argv);
    return ft_run_child_status_of(error);
}

/* Where the command's program is, absolute; "" where there is none. */
static void find_program(const char *command, char path[PATH_MAX])
{
    char found[PATH_MAX];
    if (!ft_elf_find_command(command, found, sizeof(found)) || !realpath(found, path)) {
        path[0] = '\0';
    }
}

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    const struct values *values = values_untyped;
    struct ft_run_paths paths = {0};
    struct ft_run_daemon daemon = {0};
    char error[PATH_MAX + 256], program[PATH_MAX];
    int status = check_words(values);
    if (status != FT_STATUS_DONE) {
        return status;
    }
    char *folder = values->output ? ft_cli_strdup(values->output) : default_folder(operands->items[0]);
    status = ft_run_paths_find(&paths, error, sizeof(error));
    status = status < 0 ? status : ft_run_paths_make_trace(&paths, folder, error, sizeof(error));
    if (status < 0) {
        ft_run_paths_clean(&paths);
        free(folder);
        return ft_cli_fail("%s; the command was not run", error);
    }
    find_program(operands->items[0], program);
    struct ft_run_daemon_options daemon_options = {.program = paths.daemon,
                                                   .socket = paths.socket,
                                                   .spool = paths.trace,
                                                   .library = paths.library,
                                                   .command = program,
                                                   .follows_clean_env = values->follows_clean_env};
    status = ft_run_paths_make_folder(&paths, error, sizeof(error));
    status = status < 0 ? status : ft_run_daemon_start(&daemon, &daemon_options, error, sizeof(error));
    bool is_traced = status == 0;
    if (is_traced) {
        status = run_command(values, operands, &paths, program, &daemon);
    } else {
        paths.keeps_folder = false;
    }
    ft_run_paths_clean(&paths);
    free(folder);
    if (!is_traced) {
        ft_cli_warn("%s; the command runs untraced", error);
        status = run_untraced(operands);
    }
    return status;
}

const struct ft_command ft_command_run = {
    .name = "run",
    .arguments = "[--] COMMAND [ARG]...",
    .summary = "trace one command, then print its summary on stderr",
    .details = "The command keeps its input, output and exit status. 128 plus the signal's number is\n"
               "returned where a signal killed it, 127 where it was not found, 126 where it could not\n"
               "be run, 1 where there can be no trace in the folder (the command is not run then).",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .operands_min = 1,
    .operands_max = FT_OPTIONS_ALL,
    .operand_missing = "which command shall be run?",
    .ends_at_operand = true,
    .values_bytes = sizeof(struct values),
    .defaults = &defaults,
    .run = run,
};
