// SPDX-License-Identifier: MIT
//
// A segment that a daemon before us read: where it was in each chunk, and how the lines stood there.
//
// Where it was: the larger of what the ranges of the job's blocks say (a block is in the file before the chunks' words
// are written) and of the chunks' own words (which also speak of slots that made no row). Both are per filling, and
// fillings only count up. What the slots before said of threads, vfork children and executed programs is read again
// from chunks that are still there; the rest is in the file.
//
// The loop's, before the process belongs to a worker.
#ifndef FT_DAEMON_RESTORE_H
#define FT_DAEMON_RESTORE_H

#include "daemon/process.h"
#include "proto/trace_resume.h"

// Slots below `slots` of filling `fill` were taken: moves the position on, never back. What makes no sense is ignored.
void ft_restore_note(struct ft_segment_position *position, uint64_t fill, unsigned slots);

// A range of a block.
void ft_restore_note_range(struct ft_segment *segment, const struct ft_trace_range *range);

// The chunks' words, after all ranges: from here on the segment can be drained. -EBADMSG: corrupt, -ENOMEM.
int ft_restore_chunks(struct ft_process *process);

// Tags, after the names and the chunks.
void ft_restore_tags(struct ft_process *process, const struct ft_trace_tagged *tagged);

#endif
