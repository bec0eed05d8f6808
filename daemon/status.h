// SPDX-License-Identifier: MIT
//
// What the daemon did and could not do, as counters. Any thread.
#ifndef FT_DAEMON_STATUS_H
#define FT_DAEMON_STATUS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

// name, what it counts
#define FT_STATUS_COUNTERS(X)                                                                     \
    X(attached, "processes attached")                                                             \
    X(taken_over, "processes of a daemon before us that are gone on with")                        \
    X(taken_lost, "processes of a daemon before us whose memory nobody held: gaps")               \
    X(refused_message, "messages that were no attach message of a version we speak")              \
    X(refused_memory, "segments that were no sealed memfd of ours")                               \
    X(refused_limit, "processes and jobs over a limit")                                           \
    X(refused_own, "processes that could not be taken for want of memory or descriptors")         \
    X(corrupt, "processes cut off because their segment contradicted itself")                     \
    X(events, "events written")                                                                   \
    X(blocks, "blocks written")                                                                   \
    X(bytes, "bytes written")                                                                     \
    X(disk_full, "writes that failed")                                                            \
    X(asked, "questions answered")                                                                \
    X(not_answered, "questions not answered: over a limit, or for want of memory or descriptors") \
    X(retired, "jobs whose traces were removed, being over a limit of retain_...")                \
    X(hooks_done, "times that job_finished_command succeeded")                                    \
    X(hooks_failed, "times that it failed or could not be started")                               \
    X(dropped_ring_full, "events dropped because a ring was full: counted, not kept")             \
    X(dropped_torn, "events begun and not finished when their process died")                      \
    X(dropped_daemon_limit, "events dropped because of a limit of the daemon")                    \
    X(dropped_disk_full, "events dropped because they could not be written")                      \
    X(dropped_capped, "events dropped because their job had its share")                           \
    X(dropped_corrupt, "events dropped because their segment contradicted itself")

struct ft_status {
    _Atomic int64_t write_failed_ns; // of the last write that failed, CLOCK_MONOTONIC; 0: none did
    _Atomic int write_error;
    _Atomic int64_t no_memory_ns; // of the last block for which there was none; 0: there always was
#define X(name, help) _Atomic uint64_t name;
    FT_STATUS_COUNTERS(X)
#undef X
};

#define ft_status_add(status, name, count) atomic_fetch_add_explicit(&(status)->name, (count), memory_order_relaxed)

#define X(name, help) +1
enum { FT_STATUS_ROWS = 0 FT_STATUS_COUNTERS(X) };
#undef X

struct ft_status_row {
    const char *name, *help;
    uint64_t value;
};

// All counters; returns how many. `rows` has room for FT_STATUS_ROWS.
size_t ft_status_read(struct ft_status *status, struct ft_status_row *rows);

void ft_status_note_write_error(struct ft_status *status, int error, int64_t now_ns);

// One line "name=value ..." of what is not 0; returns its length.
size_t ft_status_print(struct ft_status *status, char *out, size_t room);

#endif
