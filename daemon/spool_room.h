// SPDX-License-Identifier: MIT
//
// What each user has in the spool, and what may come to it (max_user_stored): all, sums alone, or totals alone. Sums need
// names, of which a user can make any number; the records of processes, with the totals, are always kept.
//
// It is looked at aside, each minute, and every few seconds while somebody has too much; in between, what is written counts.
#ifndef FT_DAEMON_SPOOL_ROOM_H
#define FT_DAEMON_SPOOL_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/aside.h"
#include "daemon/spool.h"

struct ft_daemon;

enum ft_room { FT_ROOM_FOR_ALL, FT_ROOM_FOR_SUMS, FT_ROOM_FOR_TOTALS };

struct ft_spool_room {
    struct ft_aside aside;
    bool is_running;
    int64_t looked_ns;          // 0: never
    struct ft_spool_list found; // the work's
    bool is_found;
};

// The loop's.
void ft_spool_room_tick(struct ft_daemon *daemon, int64_t now_ns);

// Any thread.
enum ft_room ft_spool_room_of(struct ft_daemon *daemon, uint32_t uid);

#endif
