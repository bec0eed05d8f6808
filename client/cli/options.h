// SPDX-License-Identifier: MIT
/*
 * Options of a command: one table per command, from which parsing, --help and usage errors come.
 *
 * A row says where in the command's own struct of values the option is stored. `--name VALUE`, `--name=VALUE`,
 * `-x VALUE`, `-xVALUE`; `--` ends the options. -h and --help are every command's.
 */
#ifndef FT_CLI_OPTIONS_H
#define FT_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ft_option_kind {
    FT_OPTION_FLAG,   /* bool: true when given */
    FT_OPTION_NO,     /* bool: false when given */
    FT_OPTION_STRING, /* const char *: the last one given */
    FT_OPTION_LIST,   /* struct ft_strings: all given, in order */
    FT_OPTION_COUNT,  /* uint64_t: a decimal number */
    FT_OPTION_CHOICE, /* const char *: one of `choices`, separated by | */
};

struct ft_strings {
    const char **items; /* the items are argv's own */
    size_t count;
};

struct ft_option {
    enum ft_option_kind kind;
    char letter; /* 0: none */
    const char *name;
    const char *argument; /* for --help; NULL for FLAG and NO */
    const char *help;     /* one line */
    size_t at;            /* offsetof in the struct of values */
    const char *choices;  /* CHOICE only */
};

struct ft_command {
    const char *name;
    const char *arguments; /* for --help, such as "PATH..." */
    const char *summary;   /* one line for the list of commands */
    const char *details;   /* more for --help, lines of at most 80 columns; may be NULL */
    const struct ft_option *options;
    size_t option_count;
    size_t operands_min, operands_max;
    const char *operand_missing; /* what a usage error says where there are too few */
    bool ends_at_operand;        /* what follows the first operand is not ours to read */
    size_t values_bytes;
    const void *defaults; /* values_bytes of them; NULL: zeros */
    int (*run)(const void *values, const struct ft_strings *operands);
};

enum { FT_OPTIONS_ALL = 1000000 };

/* Operands of a command that reads traces. */
#define FT_COMMAND_READS_TRACES                                                                                  \
    .arguments = "PATH...", .details = "PATH is a trace file or a folder of them; several are read as one job.", \
    .operands_min = 1, .operands_max = FT_OPTIONS_ALL, .operand_missing = "which trace? name a file or a folder"

/*
 * Parses argv[1..] (argv[0] is the command's name), prints help or a usage error itself, or runs the command.
 * The result is the exit status.
 */
int ft_options_run(const struct ft_command *command, int argc, char **argv);

/* The same without running: 0, 1 where help was asked for, or -EINVAL with a message in `error`. */
int ft_options_parse(const struct ft_command *command, int argc, char **argv, void *values, struct ft_strings *operands,
                     char *error, size_t error_bytes);
void ft_options_release(const struct ft_command *command, void *values, struct ft_strings *operands);

#endif
