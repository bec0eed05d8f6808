// SPDX-License-Identifier: MIT
//
// How long traces stay: by age, by what one user has, by what all have. The oldest finished job goes first; one that runs
// is never touched.
//
// The loop decides when; looking and removing are done aside. What a job begins meanwhile is safe: a file gets its name, and a
// folder goes away, under one lock.
#ifndef FT_DAEMON_RETAIN_H
#define FT_DAEMON_RETAIN_H

#include <pthread.h>

#include "daemon/aside.h"
#include "daemon/spool.h"

struct ft_daemon;

struct ft_retain_limits {
    int64_t age_ns;                   // each 0: none
    uint64_t bytes_all, bytes_of_one; // of all users, of one
};

struct ft_retain {
    pthread_mutex_t lock; // a file's name is given, a folder is renamed
    struct ft_aside aside;
    bool is_running;
    int64_t next_ns;
    struct ft_spool_list running; // the work's: who ran when it began
    uint64_t removed;             // the work's: counts names of folders on their way out
};

void ft_retain_init(struct ft_retain *retain);
void ft_retain_fini(struct ft_retain *retain);

// Looks if that is due and allowed. The loop's, now and then.
void ft_retain_tick(struct ft_daemon *daemon, int64_t now_ns);

// A job has finished: there may be too much now.
void ft_retain_soon(struct ft_daemon *daemon);

// Puts the jobs that have to go first, in the order in which they do; returns how many. `now_ns` is CLOCK_REALTIME.
size_t ft_retain_choose(struct ft_spool_list *list, const struct ft_retain_limits *limits, int64_t now_ns);

#endif
