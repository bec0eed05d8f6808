// SPDX-License-Identifier: MIT
/* What a call id of a trace is called. */
#ifndef FT_TRACE_CALL_NAME_H
#define FT_TRACE_CALL_NAME_H

#include "proto/trace_reader.h"

/* Of the file itself, else of this build's table; "call N" in `room` where neither knows it. */
const char *ft_call_name_find(const struct ft_trace_reader *reader, unsigned call, char *room, size_t room_bytes);
const char *ft_call_name_category(const struct ft_trace_reader *reader, unsigned call);
unsigned ft_call_name_group(const struct ft_trace_reader *reader, unsigned call); /* enum ft_group */

#endif
