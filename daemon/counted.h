// SPDX-License-Identifier: MIT
//
// Gaps that a process's own shim counts (enum ft_shim_gap), and its io_uring rings: told as they grow.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_COUNTED_H
#define FT_DAEMON_COUNTED_H

#include "daemon/drain.h"

// A gap of the process itself.
void ft_counted_put_gap(struct ft_drain *drain, const struct ft_process *process, enum ft_gap kind, uint64_t count,
                        const char *reason);

// What was counted and not told yet. `is_last`: also what only the end shows.
void ft_counted_put(struct ft_drain *drain, struct ft_process *process, bool is_last);

// A GAP record: what makes the gap has a name.
void ft_counted_put_named(struct ft_drain *drain, struct ft_process *process, unsigned gap, uint32_t count,
                          const struct ft_name *name);

#endif
