// SPDX-License-Identifier: MIT
//
// Building blocks: when one is due, and from what waits in the job's segments to frames in the file.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_BLOCK_H
#define FT_DAEMON_BLOCK_H

#include "daemon/drain.h"
#include "daemon/job.h"

// Events of a process that wait in its segment, by its lines' counts.
uint64_t ft_block_waiting(const struct ft_process *process);

// When the block of what waits now is due; INT64_MAX where nothing waits. `now_ns` or earlier: it is.
int64_t ft_block_due_ns(const struct ft_job *job, int64_t now_ns);

// Fills in what a drain of this job needs. The writer is NULL where there is no file, or the disk is full.
void ft_block_begin(struct ft_job *job, struct ft_drain *drain, int64_t now_ns, bool must_not_wait);

// Drains everything that waits and writes it.
void ft_block_run(struct ft_job *job, struct ft_drain *drain);

// No more is read of a process: it contradicted itself (FT_CAUSE_CORRUPT), or passed its user's share (DAEMON_LIMIT).
void ft_block_cut_off(struct ft_job *job, struct ft_process *process, enum ft_cause cause);

#endif
