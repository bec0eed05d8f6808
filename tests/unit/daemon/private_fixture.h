// SPDX-License-Identifier: MIT
//
// A whole private daemon in a thread of the test, and children that attach segments made by hand.
#ifndef FT_TESTS_PRIVATE_FIXTURE_H
#define FT_TESTS_PRIVATE_FIXTURE_H

#include "daemon/daemon.h"
#include "proto/trace_reader.h"
#include "segment_maker.h"

struct fixture {
    struct ft_daemon daemon;
    struct ft_options options;
    pthread_t thread;
    int hold_fd;
    char folder[64], socket[96], spool[96], trace[512];
    struct ft_trace_reader *reader;
};

// `extra`: one more key=value, NULL none.
struct fixture *fixture_start(const char *extra);
// Ends the daemon as the end of a command does, and opens the trace, which is whole.
void fixture_end(struct fixture *fixture);
void fixture_clean_up(struct fixture *fixture);

// Runs `body` in a child, which ends with status 7, and waits for it.
pid_t fixture_run_child(struct fixture *fixture, void (*body)(struct maker *, const char *socket));

const struct ft_trace_process *fixture_only_process(const struct fixture *fixture);
uint64_t fixture_sum_dropped(const struct ft_trace_process *process);

// Two names and `count` calls on two lines.
void fixture_call_some(struct maker *maker, unsigned count);

#endif
