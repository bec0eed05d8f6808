// SPDX-License-Identifier: MIT
//
// The command line of flowtapd, and what it makes of the configuration.
#ifndef FT_DAEMON_OPTIONS_H
#define FT_DAEMON_OPTIONS_H

#include "daemon/config.h"

enum { FT_OPTIONS_SETS_MAX = 256 };

struct ft_options {
    const char *config_path;               // NULL: the default one
    const char *sets[FT_OPTIONS_SETS_MAX]; // key=value
    size_t set_count;
    bool only_check, only_policy;
};

enum ft_options_result { FT_OPTIONS_GO, FT_OPTIONS_EXIT_OK, FT_OPTIONS_EXIT_USAGE };

// Prints --help, --version and complaints itself.
enum ft_options_result ft_options_parse(struct ft_options *options, int argc, char *const *argv);

// Defaults, files, --set. A private daemon reads no file but one named by --config. -EINVAL where the report has errors.
// `config` is to be released with ft_config_fini() whatever comes back.
int ft_options_load(const struct ft_options *options, struct ft_config *config, struct ft_config_report *report);

#endif
