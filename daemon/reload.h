// SPDX-License-Identifier: MIT
//
// The configuration read again, on SIGHUP, and names in it looked up: aside, since a directory service may take its
// time. What was in force stays so until all is known. The loop's.
#ifndef FT_DAEMON_RELOAD_H
#define FT_DAEMON_RELOAD_H

#include <stdbool.h>
#include <stdint.h>

struct ft_daemon;

struct ft_reload {
    bool is_running;  // a thread has it
    bool is_wanted;   // once more: it was asked for meanwhile
    int64_t names_ns; // names of nobody are looked up again then
};

// Reads the configuration again, now or when the thread that does it already is done.
void ft_reload_start(struct ft_daemon *daemon);

// A name that nobody had when it was looked up may be a user's by now: they are asked for again, each minute.
void ft_reload_tick(struct ft_daemon *daemon, int64_t now_ns);

#endif
