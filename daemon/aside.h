// SPDX-License-Identifier: MIT
//
// What the daemon does beside the passes that may wait for a disk or for names of users and groups: answers, retention,
// the metrics file, reading the configuration. Each runs on a thread of its own and never on one of libuv's workers:
// those are the passes', so that however many wait here, events go on being stored.
//
// How many there are at a time is bounded by who starts them.
#ifndef FT_DAEMON_ASIDE_H
#define FT_DAEMON_ASIDE_H

#include <uv.h>

struct ft_aside {
    uv_async_t done;
    uv_thread_t thread;
    void (*run)(struct ft_aside *aside);   // on the thread
    void (*after)(struct ft_aside *aside); // on the loop, in any case; may release it
    int error;                             // for `after`: -errno where no thread was to be had, and nothing was run
};

// The loop's, which stays until `after` was called. `run` and `after` are set.
void ft_aside_start(uv_loop_t *loop, struct ft_aside *aside);

#endif
