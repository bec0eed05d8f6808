// SPDX-License-Identifier: MIT
//
// How much room the spool's disk has, for who asks how the daemon does. It is looked at aside, once a second, so that the
// loop does not wait for a disk that hangs.
#ifndef FT_DAEMON_SPACE_H
#define FT_DAEMON_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/aside.h"

struct ft_daemon;

struct ft_space {
    struct ft_aside aside;
    const char *path;
    bool is_running; // a thread has what follows
    bool is_found;
    uint64_t free_bytes, used_bytes;
    // the loop's, as of the last look
    bool is_known;
    uint64_t last_free_bytes, last_used_bytes;
};

// The first look, when the daemon starts; then one at a time.
void ft_space_init(struct ft_daemon *daemon);
void ft_space_tick(struct ft_daemon *daemon);

#endif
