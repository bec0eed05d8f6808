// SPDX-License-Identifier: MIT
#include "daemon/options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct option_row {
    const char *name, *argument, *help;
    enum ft_options_result (*take)(struct ft_options *options, const char *argument);
};

static enum ft_options_result take_config(struct ft_options *options, const char *argument)
{
    options->config_path = argument;
    return FT_OPTIONS_GO;
}

static enum ft_options_result take_set(struct ft_options *options, const char *argument)
{
    if (options->set_count == FT_OPTIONS_SETS_MAX) {
        fprintf(stderr, "flowtapd: --set: at most %d\n", FT_OPTIONS_SETS_MAX);
        return FT_OPTIONS_EXIT_USAGE;
    }
    options->sets[options->set_count++] = argument;
    return FT_OPTIONS_GO;
}

static enum ft_options_result take_check(struct ft_options *options, const char *argument)
{
    (void)argument;
    options->only_check = true;
    return FT_OPTIONS_GO;
}

static enum ft_options_result take_write_policy(struct ft_options *options, const char *argument)
{
    (void)argument;
    options->only_policy = true;
    return FT_OPTIONS_GO;
}

static enum ft_options_result take_print_config(struct ft_options *options, const char *argument)
{
    (void)options;
    (void)argument;
    ft_config_print_file(stdout);
    return FT_OPTIONS_EXIT_OK;
}

static enum ft_options_result take_version(struct ft_options *options, const char *argument)
{
    (void)options;
    (void)argument;
    puts("flowtapd " FT_VERSION);
    return FT_OPTIONS_EXIT_OK;
}

static enum ft_options_result take_help(struct ft_options *options, const char *argument);

static const struct option_row rows[] = {
    {"--config", "PATH", "read this file instead of " FT_CONFIG_DEFAULT_PATH, take_config},
    {"--set", "KEY=VALUE", "set a key, after all files; may be given many times", take_set},
    {"--check", NULL, "read the configuration, say all that is wrong with it, and end: 1 where something is",
     take_check},
    {"--print-config", NULL, "print a configuration file of all keys with their defaults", take_print_config},
    {"--write-policy", NULL, "write the file beside the socket that tells programs what to record, and end",
     take_write_policy},
    {"--version", NULL, "print the version", take_version},
    {"--help", NULL, "print this", take_help},
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static enum ft_options_result take_help(struct ft_options *options, const char *argument)
{
    (void)options;
    (void)argument;
    puts("usage: flowtapd [--config PATH] [--set KEY=VALUE]... [--check | --print-config | --write-policy]\n"
         "Collects what traced programs record, in the foreground, until SIGTERM.\n");
    for (size_t i = 0; i < ROW_COUNT; i++)
        printf("  %-15s %-10s %s\n", rows[i].name, rows[i].argument ? rows[i].argument : "", rows[i].help);
    puts("\nKeys of section [" FT_CONFIG_SECTION "], with their defaults:");
    ft_config_print_keys(stdout);
    return FT_OPTIONS_EXIT_OK;
}

// The row that argv[*at] names, and its argument, which may follow a `=` or come next. NULL where there is none.
static const struct option_row *find_row(int argc, char *const *argv, int *at, const char **argument)
{
    const char *given = argv[*at];
    const char *equals = strchr(given, '=');
    size_t bytes = equals ? (size_t)(equals - given) : strlen(given);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strlen(rows[i].name) != bytes || memcmp(rows[i].name, given, bytes) != 0)
            continue;
        *argument = equals ? equals + 1 : NULL;
        if (!rows[i].argument)
            return equals ? NULL : &rows[i];
        if (!equals && *at + 1 < argc)
            *argument = argv[++*at];
        return *argument ? &rows[i] : NULL;
    }
    return NULL;
}

enum ft_options_result ft_options_parse(struct ft_options *options, int argc, char *const *argv)
{
    memset(options, 0, sizeof(*options));
    for (int at = 1; at < argc; at++) {
        const char *argument = NULL, *given = argv[at];
        const struct option_row *row = find_row(argc, argv, &at, &argument);
        if (!row) {
            fprintf(stderr, "flowtapd: %s: no such option, or its value is missing; see --help\n", given);
            return FT_OPTIONS_EXIT_USAGE;
        }
        enum ft_options_result result = row->take(options, argument);
        if (result != FT_OPTIONS_GO)
            return result;
    }
    return FT_OPTIONS_GO;
}

static void apply_sets(const struct ft_options *options, struct ft_config *config, struct ft_config_report *report)
{
    for (size_t i = 0; i < options->set_count; i++) {
        struct ft_config_error error;
        if (ft_config_set_pair(config, options->sets[i], &error) < 0)
            ft_config_tell(report, true, "--set %s", error.text);
    }
}

int ft_options_load(const struct ft_options *options, struct ft_config *config, struct ft_config_report *report)
{
    struct ft_config_report nobodys = {0};
    const char *path = options->config_path ? options->config_path : FT_CONFIG_DEFAULT_PATH;
    if (ft_config_init(config) < 0) {
        ft_config_tell(report, true, "%s", strerror(ENOMEM));
        return -ENOMEM;
    }
    apply_sets(options, config, &nobodys); // they say whether there is a file to read
    if (options->config_path && access(path, F_OK) < 0)
        ft_config_tell(report, true, "%s: %s", path, strerror(errno));
    if (options->config_path || !config->private)
        ft_config_load(config, path, report);
    apply_sets(options, config, report);
    ft_config_check(config, report);
    return report->errors ? -EINVAL : 0;
}
