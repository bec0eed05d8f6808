// SPDX-License-Identifier: MIT
/* flowtap: one table of commands. A command is a file cmd_NAME.c with its page flowtap-NAME.1. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/cli.h"

#ifndef FT_VERSION
#define FT_VERSION "unknown"
#endif

static const struct ft_command *const commands[] = {
    &ft_command_run,      &ft_command_summary, &ft_command_events,   &ft_command_files, &ft_command_processes,
    &ft_command_timeline, &ft_command_diff,    &ft_command_diagnose, &ft_command_info,  &ft_command_verify,
    &ft_command_status,   &ft_command_top,     &ft_command_jobs,     &ft_command_fetch, &ft_command_doctor,
};

enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static const struct ft_command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static int print_help(void)
{
    printf("usage: flowtap COMMAND [OPTION]... [ARGUMENT]...\n\n"
           "Records what data every process of a job moves, and when; answers questions about it.\n\n"
           "commands:\n");
    for (int i = 0; i < COMMAND_COUNT; i++) {
        printf("  %-12s %s\n", commands[i]->name, commands[i]->summary);
    }
    printf("\n`flowtap COMMAND --help` says more; so do the manual pages flowtap(1) and flowtap-COMMAND(1).\n"
           "Try: flowtap run -- COMMAND ARG...\n\n"
           "options:\n"
           "  -h, --help     print this\n"
           "  -V, --version  print the version\n");
    return ft_cli_finish_output(FT_STATUS_DONE);
}

static int help_of(int argc, char **argv)
{
    if (argc < 3) {
        return print_help();
    }
    const struct ft_command *command = find_command(argv[2]);
    if (!command) {
        return ft_cli_fail_usage("unknown command '%s'", argv[2]);
    }
    char help[] = "--help", *words[] = {argv[2], help, NULL};
    return ft_options_run(command, 2, words);
}

/*
 * A descriptor that we open must never take the place of a standard one that is closed. What is opened here for it cannot be
 * written to, so that a report which goes nowhere is an error.
 */
static void occupy_standard_fds(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            (void)!open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
        }
    }
}

/*
 * Each thread that reads would take an arena of its own: 64 MiB of addresses, 128 for a moment, which a limit of the
 * address space (ulimit -v, a batch system's) counts as used; with eight of them more than all that we hold.
 */
static void share_memory(void)
{
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 1);
#endif
}

int main(int argc, char **argv)
{
    share_memory();
    ft_cli_ignore_file_limit();
    occupy_standard_fds();
    if (argc < 2) {
        return ft_cli_fail_usage("which command?");
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return print_help();
    }
    if (strcmp(word, "help") == 0) {
        return help_of(argc, argv);
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("flowtap %s\n", FT_VERSION);
        return ft_cli_finish_output(FT_STATUS_DONE);
    }
    const struct ft_command *command = find_command(word);
    if (!command) {
        return ft_cli_fail_usage(word[0] == '-' ? "unknown option '%s'" : "unknown command '%s'", word);
    }
    return ft_options_run(command, argc - 1, argv + 1);
}
