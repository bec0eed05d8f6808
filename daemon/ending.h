// SPDX-License-Identifier: MIT
//
// The end of a process in the trace: how it ended, what became of its last events, what was not seen of it.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_ENDING_H
#define FT_DAEMON_ENDING_H

#include "daemon/drain.h"

// How it ended, if that is to be known by now: true then.
bool ft_ending_learn_exit(struct ft_process *process);

// After the last drain: exit status, torn events, gaps, the last record. `end_ns` 0: it lives on, and the gap says so.
void ft_ending_finish(struct ft_drain *drain, struct ft_process *process, int64_t end_ns, enum ft_gap gap);

// A gap for the command of a private daemon, where its program is not seen. `is_empty`: nothing of it attached.
void ft_ending_put_command(struct ft_drain *drain, const char *command, bool is_empty);

#endif
