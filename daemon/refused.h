// SPDX-License-Identifier: MIT
//
// Processes that were not admitted or did not send, the first ones of a job by name, so many more by number; and those that
// were lost with a daemon before us, all by name.
//
// The loop adds, the worker that has the job takes; the owner has the lock.
#ifndef FT_DAEMON_REFUSED_H
#define FT_DAEMON_REFUSED_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/trace_writer.h"

enum { FT_REFUSED_NAMED_MAX = 64 };

struct ft_refused_process {
    uint32_t pid;
    enum ft_gap gap;
    const char *reason; // static
    char exe[256];
};

struct ft_refused {
    struct ft_refused_process *named; // not written yet
    uint32_t named_count, named_room;
    uint32_t refused_count; // that were named, written or not
    uint64_t more_count;    // not admitted, and not written yet
    uint64_t unsent_count;  // did not send; likewise
    int64_t next_ns;        // these two are not written before
};

void ft_refused_fini(struct ft_refused *refused);

// `exe`: what the client calls itself, for where the kernel does not tell; NULL.
void ft_refused_add(struct ft_refused *refused, uint32_t pid, enum ft_gap gap, const char *exe, const char *reason);

// When ft_refused_put() has something to do, INT64_MAX never.
int64_t ft_refused_due_ns(const struct ft_refused *refused);

// Writes gaps of what is new.
void ft_refused_put(struct ft_refused *refused, struct ft_trace_writer *writer, int64_t now_ns);

#endif
