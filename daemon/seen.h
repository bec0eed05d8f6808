// SPDX-License-Identifier: MIT
//
// Pids of a job that attached: when the last image of each did, and what program it was.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_SEEN_H
#define FT_DAEMON_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/trace_record.h"

struct ft_seen_pid {
    uint32_t pid; // 0: empty
    uint32_t exe; // hash of its program's path
    int64_t attached_ns;
};

struct ft_seen {
    struct ft_seen_pid *slots; // open addressing; room is a power of two
    uint32_t room, count;
};

void ft_seen_fini(struct ft_seen *seen);
// An image that attached before the one that is there changes nothing.
void ft_seen_add(struct ft_seen *seen, uint32_t pid, int64_t attached_ns, struct ft_bytes exe);

// The last image of the pid that attached at `since_ns` or later; NULL none.
const struct ft_seen_pid *ft_seen_find(const struct ft_seen *seen, uint32_t pid, int64_t since_ns);

uint32_t ft_seen_hash(struct ft_bytes exe);

#endif
