// SPDX-License-Identifier: MIT
//
// How much room the spool's disk has, for who asks how the daemon does. It is looked at aside, so that the loop does not
// wait for a disk that hangs: within a second after each time that somebody wanted to know, and now and then where nobody
// does, so that the first to ask again is told nothing old. Of a private daemon hardly anybody asks.
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
    bool is_known, is_wanted; // wanted: since the last look
    int64_t next_ns;          // the next look, whoever wants it
    uint64_t last_free_bytes, last_used_bytes;
};

// The first look, when the daemon starts; then one at a time.
void ft_space_init(struct ft_daemon *daemon);
void ft_space_tick(struct ft_daemon *daemon, int64_t now_ns);

// Somebody is told what the last look found.
void ft_space_want(struct ft_daemon *daemon);

#endif
