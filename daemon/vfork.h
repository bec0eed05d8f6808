// SPDX-License-Identifier: MIT
//
// vfork children: they run on their parent's memory, so what they do stands in the parent's line, between two VFORK
// records. The first tells the child's pid, or, where it was not known by then, the second does. In the trace a child
// is a process of its own, of the rows in between; they are taken off its parent's figures.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_VFORK_H
#define FT_DAEMON_VFORK_H

#include "daemon/drain.h"

// At a begin record in slot piece->to. False where the end is not there yet and may still come.
bool ft_vfork_begin(struct ft_drain *drain, struct ft_process_line *line, const struct ft_piece *piece);

// At an end record.
void ft_vfork_end(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line);

// THREAD id for a row made by a vfork child, 0 where its child is not known.
uint32_t ft_vfork_thread(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line);

// Children that are not over when their parent is: their records as they stand.
void ft_vfork_finish(struct ft_drain *drain, struct ft_process *process);

// How a line stands behind slot `to` of a chunk, whose slots before it a daemon before us has read.
void ft_vfork_restore(struct ft_process_line *line, const uint8_t *chunk, const struct ft_chunk_head *head,
                      unsigned to);

#endif
