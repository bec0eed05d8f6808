// SPDX-License-Identifier: MIT
//
// How far a process's ring may grow, and on whose account.
//
// What the shim takes is charged to the job, and beyond the limit of a memory cgroup the kernel ends a process instead of
// refusing. So the shim takes FT_CHUNKS_UNASKED by itself and then what it is told here (chunks_allowed): all of its
// share where no limit is in sight, else a part of what the groups have left beyond a reserve. It is told when it has lived
// for a look, when its ring has grown, and again and again while a limit holds. A ring that may not grow, or has grown
// to its share, and gets full is made larger by the daemon: on its own account, if its own groups have room, and within
// the user's share. A client that does not heed the word harms its own groups, as it could without us.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_GROWTH_H
#define FT_DAEMON_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

struct ft_job;
struct ft_process;

struct ft_growth {
    char *group;    // of its memory (headroom.h); NULL: not asked for, or none that we see
    uint32_t told;  // chunks; 0: nothing yet
    uint32_t taken; // by the shim, when it was told last
    int64_t next_ns, next_make_ns;
    bool was_looked_at;
    bool has_fd; // fd is the segment of a client that was cut off
    int fd;
};

// After a look at its segment that found something new (`has_changed`) or not.
void ft_growth_look(struct ft_job *job, struct ft_process *process, bool has_changed, int64_t now_ns);
// Instead of closing the segment of a client that is cut off and may live on: what was given to it can be taken back.
void ft_growth_cut_off(struct ft_process *process);
// What the daemon gave to one that is over goes back to the kernel, whoever else has its segment open or mapped: that would
// stay on the daemon's account, but no longer on the user's share.
void ft_growth_take_back(struct ft_process *process);
// When a look that finds nothing new has something to do here; 0: at the next.
int64_t ft_growth_next_ns(const struct ft_process *process);
void ft_growth_fini(struct ft_growth *growth);

// Chunks that a process of `process_count` in a group with `left` bytes may have, of which it has `taken`.
uint32_t ft_growth_allowed(uint64_t left, uint32_t taken, uint32_t process_count);

#endif
