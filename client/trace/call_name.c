// SPDX-License-Identifier: MIT
#include "client/trace/call_name.h"

#include <stdio.h>

#include "proto/calls.h"

const char *ft_call_name_find(const struct ft_trace_reader *reader, unsigned call, char *room, size_t room_bytes)
{
    const struct ft_trace_call *record = ft_trace_reader_call(reader, call);
    const char *name = record && record->name.len ? record->name.data : ft_call_name(call);
    if (!name) {
        snprintf(room, room_bytes, "call %u", call);
        name = room;
    }
    return name;
}

const char *ft_call_name_category(const struct ft_trace_reader *reader, unsigned call)
{
    const struct ft_trace_call *record = ft_trace_reader_call(reader, call);
    return record && record->category.len ? record->category.data : ft_category_name(ft_call_category(call));
}

unsigned ft_call_name_group(const struct ft_trace_reader *reader, unsigned call)
{
    const struct ft_trace_call *record = ft_trace_reader_call(reader, call);
    return record ? record->group : (unsigned)ft_call_group(call);
}
