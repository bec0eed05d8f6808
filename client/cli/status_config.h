/* SPDX-License-Identifier: MIT */
/* The configuration of a running daemon: each key, its value in force, and where that comes from. */
#ifndef FT_CLI_STATUS_CONFIG_H
#define FT_CLI_STATUS_CONFIG_H

#include "client/cli/daemon_report.h"

extern const struct ft_daemon_report ft_status_config;

#endif
