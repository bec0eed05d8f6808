// SPDX-License-Identifier: MIT
//
// Memory that was given back to the allocator goes back to the system. The C library keeps what was freed, for the most part: a
// small piece in use at a heap's end keeps all below it, and what blocks were made in lets it keep up to 64 MiB at each end.
// After thousands of processes at a time that is far more than all that is in use.
//
// Looking for what can go takes milliseconds and each heap's lock: it is done aside, when a burst is over, and not often.
#ifndef FT_DAEMON_HEAP_H
#define FT_DAEMON_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/aside.h"

struct ft_daemon;

struct ft_heap {
    struct ft_aside aside;
    bool is_running;
    bool has_freed;                // something that was not looked for
    uint64_t blocks_last_tick;     // of all that were written
    uint64_t gone, gone_last_tick; // processes and jobs that went since the last time; of these, before the last tick
    int64_t next_ns;               // not again before
};

void ft_heap_init(struct ft_daemon *daemon);
// A process or a job.
void ft_heap_note_gone(struct ft_daemon *daemon);
void ft_heap_tick(struct ft_daemon *daemon, int64_t now_ns);

#endif
