// SPDX-License-Identifier: MIT
//
// A process in the trace: its PROCESS record, and what became of its events.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_ACCOUNT_H
#define FT_DAEMON_ACCOUNT_H

#include "daemon/drain.h"

// Puts the process's record as it stands; gives it an id in the drain's file where it has none there.
int ft_account_put(struct ft_drain *drain, struct ft_process *process);

// Views of its arguments, *count of them; to be freed.
struct ft_bytes *ft_account_make_argv(const struct ft_process *process, size_t *count);

#endif
