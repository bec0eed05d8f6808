// SPDX-License-Identifier: MIT
//
// Processes of other pid namespaces, which tell of themselves and of each other by pids that are not ours.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_INSIDE_H
#define FT_DAEMON_INSIDE_H

#include "daemon/job.h"

// Our pid of a child that its parent calls `ns_pid`, made at `since_ns` or later; ns_pid itself where the parent is of
// our namespace, and where no such child is known.
uint32_t ft_inside_find_child(const struct ft_job *job, const struct ft_process *parent, uint32_t ns_pid,
                              int64_t since_ns);

// The parent of a process that had ended before the kernel could be asked, where only one can be it.
void ft_inside_find_parent(const struct ft_job *job, struct ft_process *process);

#endif
