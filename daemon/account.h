// SPDX-License-Identifier: MIT
//
// A process in the trace: its PROCESS record, what became of its events, how it ended, what was not seen of it.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_ACCOUNT_H
#define FT_DAEMON_ACCOUNT_H

#include "daemon/drain.h"

// Puts the process's record as it stands; gives it an id in the drain's file where it has none there.
int ft_account_put(struct ft_drain *drain, struct ft_process *process);

// Views of its arguments, *count of them; to be freed.
struct ft_bytes *ft_account_make_argv(const struct ft_process *process, size_t *count);

// How it ended, if that is to be known by now: true then.
bool ft_account_learn_exit(struct ft_process *process);

// Gaps for processes that were not admitted, and for a command of which nothing attached.
void ft_account_put_refused(struct ft_drain *drain, uint64_t count, bool is_empty);

// After the last drain: exit status, torn events, gaps, the last record. `end_ns` 0: it lives on, and the gap says so.
void ft_account_finish(struct ft_drain *drain, struct ft_process *process, int64_t end_ns, enum ft_gap gap);

#endif
