// SPDX-License-Identifier: MIT
//
// The threads that libuv makes for the passes. It ends the program where it cannot have as many as it was told to make: we
// find out before.
#ifndef FT_DAEMON_WORKERS_H
#define FT_DAEMON_WORKERS_H

#include <stdbool.h>

// Tells libuv how many to make, before its loop is used. 0, or -errno after a message where there cannot be one.
int ft_workers_init(bool is_private);

#endif
