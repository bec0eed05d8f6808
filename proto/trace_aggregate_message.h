// SPDX-License-Identifier: MIT
//
// An aggregate as a message of trace.proto and back.
#ifndef FT_PROTO_TRACE_AGGREGATE_MESSAGE_H
#define FT_PROTO_TRACE_AGGREGATE_MESSAGE_H

#include "proto/trace.pb-c.h"
#include "proto/trace_record.h"

// `out` points into `from`, which must not move before it is packed.
void ft_aggregate_to_message(const struct ft_trace_aggregate *from, Flowtap__Aggregate *out);

// 0, or -EBADMSG where the message makes no sense.
int ft_aggregate_from_message(const Flowtap__Aggregate *from, struct ft_trace_aggregate *out);

#endif
