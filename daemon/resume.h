// SPDX-License-Identifier: MIT
//
// What is written into the trace for a daemon that takes over (proto/trace_resume.h): how we stand with a process, what
// the ids of its segment stand for, which tags hold.
//
// What a chunk told is gone when the chunk is freed; so all of this is in the file before ft_batch_commit().
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_RESUME_H
#define FT_DAEMON_RESUME_H

#include "daemon/drain.h"

// How we stand with it now; its record has been put. `is_new`: the file knows nothing of it yet, so all names and tags
// are told too.
void ft_resume_put(struct ft_drain *drain, struct ft_process *process, bool is_new);

// Names and tags that what was just drained of it has changed.
void ft_resume_put_news(struct ft_drain *drain, struct ft_process *process);

// The news are in the file.
void ft_resume_note_written(struct ft_process *process);

#endif
