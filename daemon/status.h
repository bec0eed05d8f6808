// SPDX-License-Identifier: MIT
//
// What the daemon did and could not do, as counters. Any thread.
#ifndef FT_DAEMON_STATUS_H
#define FT_DAEMON_STATUS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

// name, what it counts
#define FT_STATUS_COUNTERS(X)                                                             \
    X(attached, "processes attached")                                                     \
    X(refused_message, "messages that were no attach message of a version we speak")      \
    X(refused_memory, "segments that were no sealed memfd of ours")                       \
    X(refused_limit, "processes over a limit")                                            \
    X(refused_own, "processes that could not be taken for want of memory or descriptors") \
    X(corrupt, "processes cut off because their segment contradicted itself")             \
    X(events, "events written")                                                           \
    X(blocks, "blocks written")                                                           \
    X(bytes, "bytes written")                                                             \
    X(disk_full, "writes that failed")

struct ft_status {
#define X(name, help) _Atomic uint64_t name;
    FT_STATUS_COUNTERS(X)
#undef X
};

#define ft_status_add(status, name, count) atomic_fetch_add_explicit(&(status)->name, (count), memory_order_relaxed)

// One line "name=value ..." of what is not 0; returns its length.
size_t ft_status_print(struct ft_status *status, char *out, size_t room);

#endif
