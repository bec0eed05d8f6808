// SPDX-License-Identifier: MIT
/*
 * What every part of the command shares: exit statuses, messages, the table of commands.
 *
 * Messages go to stderr, one line each: what, which file, why, what to do. Control bytes in them are escaped, so that
 * a file's name cannot break the line. Only the functions that decide (cmd_*.c, main.c) print; analysis never does.
 */
#ifndef FT_CLI_CLI_H
#define FT_CLI_CLI_H

#include "client/cli/options.h"

enum ft_status {
    FT_STATUS_DONE = 0,
    FT_STATUS_FAILED = 1,
    FT_STATUS_USAGE = 2,
};

/* The name that stands in front of messages, such as "flowtap summary"; static storage. */
void ft_cli_set_name(const char *name);
const char *ft_cli_name(void);

/* Each prints one line and returns the status that goes with it. */
int ft_cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int ft_cli_fail_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
void ft_cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Memory of the command itself: where there is none, one line and exit 1. Release with free(). */
void *ft_cli_alloc(size_t bytes);
void *ft_cli_memory(void *memory); /* the same memory; NULL stands for none left */
void *ft_cli_realloc(void *old, size_t count, size_t item_bytes);
/* Whether a reader's function went well. Where it had no memory, one line and exit 1: that is no damage of the trace. */
bool ft_cli_decoded(int status);
char *ft_cli_strdup(const char *text);
char *ft_cli_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Remembers errno of the first write to stdout that was not done; stdio does not. */
void ft_cli_note_write(bool is_done);
/* A file that may not grow (ulimit -f) is an error to be told, not our end; programs that we start have it as it was. */
void ft_cli_ignore_file_limit(void);
void ft_cli_give_back_file_limit(void);
/* The same for a program that is spawned; whether the limit's signal is to be set back in it. */
bool ft_cli_has_default_file_limit(void);

/* Flushes stdout; `status`, or FT_STATUS_FAILED with a message where something could not be written. */
int ft_cli_finish_output(int status);

extern const struct ft_command ft_command_run;
extern const struct ft_command ft_command_summary;
extern const struct ft_command ft_command_events;
extern const struct ft_command ft_command_files;
extern const struct ft_command ft_command_processes;
extern const struct ft_command ft_command_timeline;
extern const struct ft_command ft_command_diff;
extern const struct ft_command ft_command_diagnose;
extern const struct ft_command ft_command_info;
extern const struct ft_command ft_command_verify;
extern const struct ft_command ft_command_status;
extern const struct ft_command ft_command_top;
extern const struct ft_command ft_command_jobs;
extern const struct ft_command ft_command_fetch;
extern const struct ft_command ft_command_doctor;

#endif
