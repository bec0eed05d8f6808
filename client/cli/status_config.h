/* SPDX-License-Identifier: MIT */
/* The configuration of a running daemon: each key, its value in force, and where that comes from. */
#ifndef FT_CLI_STATUS_CONFIG_H
#define FT_CLI_STATUS_CONFIG_H

#include <stdbool.h>

/* Asks the daemon at `socket`, prints; the exit status. */
int ft_status_config(const char *socket, bool as_json);

#endif
