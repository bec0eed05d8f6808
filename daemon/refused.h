// SPDX-License-Identifier: MIT
//
// Processes that were not admitted: the first ones of a job by name, so many more by number.
//
// The loop adds, the worker that has the job takes; the owner has the lock.
#ifndef FT_DAEMON_REFUSED_H
#define FT_DAEMON_REFUSED_H

#include <stdint.h>

#include "proto/trace_writer.h"

enum { FT_REFUSED_NAMED_MAX = 64 };

struct ft_refused_process {
    uint32_t pid;
    const char *reason; // static
    char exe[256];
};

struct ft_refused {
    struct ft_refused_process named[FT_REFUSED_NAMED_MAX];
    uint32_t named_count, written_count; // these stay: no job names more of them
    uint64_t more_count;                 // not written yet
    int64_t next_ns;                     // `more_count` is not written before
};

void ft_refused_add(struct ft_refused *refused, uint32_t pid, const char *reason);

// When ft_refused_put() has something to do, INT64_MAX never.
int64_t ft_refused_due_ns(const struct ft_refused *refused);

// Writes gaps of what is new.
void ft_refused_put(struct ft_refused *refused, struct ft_trace_writer *writer, int64_t now_ns);

#endif
