// SPDX-License-Identifier: MIT
/* What a scan has to know of each call of each trace. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_count.h"
#include "client/cli/analysis_scan_part.h"
#include "client/cli/cli.h"
#include "client/cli/report.h"
#include "proto/calls.h"

enum { TABLE_BYTES = FT_TRACE_CALL_MAX * sizeof(struct ft_scan_call) };

static enum ft_side side_of(unsigned group)
{
    switch (group) {
    case FT_GROUP_READ:
    case FT_GROUP_TRANSFER:
        return FT_SIDE_READ;
    case FT_GROUP_WRITE:
        return FT_SIDE_WRITE;
    case FT_GROUP_METADATA:
    case FT_GROUP_MAP:
        return FT_SIDE_METADATA;
    default:
        return FT_SIDE_NONE;
    }
}

static struct ft_scan_call make_call(const struct ft_trace_reader *reader, unsigned call)
{
    const struct ft_trace_call *record = ft_trace_reader_call(reader, call);
    char room[32];
    const char *name = ft_call_name_find(reader, call, room, sizeof(room));
    const char *category = ft_call_name_category(reader, call);
    unsigned group = record ? record->group : (unsigned)ft_call_group(call);
    unsigned stream = ft_count_of_stream(name, category, group);
    enum ft_side side = side_of(group), bytes_side = side;
    if (side == FT_SIDE_METADATA) {
        bytes_side = stream & FT_COUNT_READ ? FT_SIDE_READ : stream & FT_COUNT_WRITE ? FT_SIDE_WRITE : FT_SIDE_NONE;
    }
    return (struct ft_scan_call){
        .group = ft_count_has_category(category) ? (uint8_t)group : (uint8_t)FT_GROUP_OTHER,
        .side = (uint8_t)side,
        .bytes_side = (uint8_t)bytes_side,
        .kernel_sides = (uint8_t)ft_count_kernel_sides(name, group),
        .reuse = (uint8_t)ft_reuse_kind_of(name),
        .stream = (uint8_t)stream,
        .is_transfer = group == FT_GROUP_TRANSFER,
        .is_open = ft_count_is_open(name),
    };
}

const struct ft_scan_call **ft_scan_make_calls(const struct ft_trace_set *set)
{
    size_t readers = ft_trace_set_reader_count(set);
    const struct ft_scan_call **calls = ft_cli_alloc(readers * sizeof(const struct ft_scan_call *));
    struct ft_scan_call *table = NULL;
    for (size_t r = 0; r < readers; r++) {
        table = table ? table : ft_cli_alloc(TABLE_BYTES);
        for (unsigned call = 0; call < FT_TRACE_CALL_MAX; call++) {
            table[call] = make_call(ft_trace_set_reader(set, r), call);
        }
        if (r > 0 && memcmp(table, calls[r - 1], TABLE_BYTES) == 0) {
            calls[r] = calls[r - 1];
        } else {
            calls[r] = table;
            table = NULL;
        }
    }
    free(table);
    return calls;
}

void ft_scan_free_calls(const struct ft_scan_call **calls, const struct ft_trace_set *set)
{
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        if (r == 0 || calls[r] != calls[r - 1]) {
            free((void *)(uintptr_t)calls[r]);
        }
    }
    free((void *)calls);
}
