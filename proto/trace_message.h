// SPDX-License-Identifier: MIT
//
// Records as messages of trace.proto, for the writer. A message points into its
// record and the arena; it is packed before either changes. 0, -ENOMEM, or
// -EINVAL where a string or list is over its maximum or a number makes no sense.
#ifndef FT_PROTO_TRACE_MESSAGE_H
#define FT_PROTO_TRACE_MESSAGE_H

#include "proto/arena.h"
#include "proto/trace.pb-c.h"
#include "proto/trace_record.h"

int ft_message_from_header(struct ft_arena *arena, const struct ft_trace_header *header, Flowtap__Header *out);
int ft_message_from_process(struct ft_arena *arena, uint32_t id, const struct ft_trace_process *process,
                            Flowtap__Process *out);
// NULL where it is not known.
int ft_message_from_kernel(struct ft_arena *arena, const struct ft_trace_kernel *kernel, Flowtap__Kernel **out);
int ft_message_from_dropped(struct ft_arena *arena, const struct ft_trace_dropped *dropped, size_t count, size_t *n,
                            Flowtap__Dropped ***out);
int ft_message_from_thread(uint32_t id, const struct ft_trace_thread *thread, Flowtap__Thread *out);
int ft_message_from_context(struct ft_arena *arena, uint32_t id, const struct ft_tag *tags, size_t count,
                            Flowtap__Context *out);
int ft_message_from_gap(const struct ft_trace_gap *gap, Flowtap__Gap *out);
int ft_message_from_loss(const struct ft_trace_loss *loss, Flowtap__Loss *out);
int ft_message_from_call(unsigned call, const struct ft_trace_call *text, Flowtap__Call *out);

#endif
