// SPDX-License-Identifier: MIT
//
// What the application says of itself: spans, instants, counters, and their arguments.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_ANNOTATED_H
#define FT_DAEMON_ANNOTATED_H

#include "daemon/drain.h"

// NAME id of a string of the segment, 0 where it is not known. 0, or FT_DRAIN_WAIT where it may still come.
int ft_annotated_string(struct ft_drain *drain, struct ft_process *process, const struct ft_piece *piece, uint32_t id,
                        uint32_t *out);

// A SPAN, INSTANT or COUNTER. 0, FT_DRAIN_WAIT, or -EBADMSG.
int ft_annotated_take(struct ft_drain *drain, struct ft_process_line *line, const struct ft_piece *piece,
                      const uint64_t *record, unsigned slots, const struct ft_record_event *event);

#endif
