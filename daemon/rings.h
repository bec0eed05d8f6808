// SPDX-License-Identifier: MIT
//
// io_uring rings that a process has, by its descriptors in /proc: also those that it made by instructions of its own.
// Looked for now and then, ever less often; a ring that lived only in between is not found.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_RINGS_H
#define FT_DAEMON_RINGS_H

#include <stdbool.h>
#include <stdint.h>

enum { FT_RINGS_MAX = 16 };

struct ft_ring {
    uint64_t inode;
    uint64_t calls; // that the kernel took from its submission queue
};

struct ft_rings {
    struct ft_ring found[FT_RINGS_MAX];
    uint32_t count;
    int64_t next_ns, interval_ns;
};

struct ft_process;

// Looks where it is time to. True where more calls were found.
bool ft_rings_look(struct ft_process *process, int64_t now_ns);

// Calls that went through rings of the process's own, and whether it has any.
bool ft_rings_calls(const struct ft_process *process, uint64_t *calls);

#endif
