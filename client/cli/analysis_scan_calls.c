// SPDX-License-Identifier: MIT
/* What a scan has to know of each call of each trace. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_count.h"
#include "client/cli/analysis_scan_part.h"
#include "client/cli/cli.h"
#include "client/cli/report.h"
#include "proto/calls.h"

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
        .is_late = ft_count_is_late(name, group),
    };
}

static ft_scan_counts counts_of(bool is_open, bool is_metadata, bool is_error)
{
    ft_scan_counts counts = {0};
    counts[FT_SCAN_EVENTS] = 1;
    counts[FT_SCAN_ERRORS] = is_error;
    counts[FT_SCAN_OPENS] = is_open && !is_error;
    counts[FT_SCAN_METADATA] = is_metadata;
    return counts;
}

struct ft_scan_effect ft_scan_effect_of(const struct ft_scan_call *call, unsigned file_class, unsigned file2_class,
                                        bool is_memory)
{
    unsigned mask = ft_count_of(call->group, file_class, file2_class);
    unsigned moved = (mask | (mask & FT_COUNT_METADATA ? call->stream : 0u)) & (FT_COUNT_READ | FT_COUNT_WRITE);
    unsigned kernel_sides = is_memory ? 0u : call->stream ? 1u : call->kernel_sides;
    bool is_move = moved || mask & (FT_COUNT_READ | FT_COUNT_WRITE) || kernel_sides || call->side <= FT_SIDE_WRITE ||
                   call->bytes_side <= FT_SIDE_WRITE;
    bool is_metadata = call->side == FT_SIDE_METADATA, is_io = mask & FT_COUNT_IO;
    bool is_rare = call->reuse != FT_REUSE_NONE || call->is_late;
    return (struct ft_scan_effect){
        .counts = {counts_of(call->is_open, is_metadata, false), counts_of(call->is_open, is_metadata, true)},
        .io_time = is_io ? UINT64_MAX : 0,
        .metadata_time = is_metadata ? UINT64_MAX : 0,
        .move_time = mask & (FT_COUNT_READ | FT_COUNT_WRITE) ? UINT64_MAX : 0,
        .mask = (uint8_t)mask,
        .moved = (uint8_t)moved,
        .kernel_sides = (uint8_t)kernel_sides,
        .side = call->side,
        .bytes_side = call->bytes_side,
        .flags = (uint8_t)((mask == FT_COUNT_READ || mask == FT_COUNT_WRITE ? FT_SCAN_IS_REQUEST : 0) |
                           (is_move ? FT_SCAN_IS_MOVE : 0) | (is_rare ? FT_SCAN_IS_RARE : 0)),
        .busy = (uint8_t)((mask & (FT_COUNT_READ | FT_COUNT_WRITE)) | (is_io ? FT_SCAN_BUSY : 0)),
    };
}

static void fill(struct ft_scan_calls *table, const struct ft_trace_reader *reader)
{
    for (unsigned call = 0; call < FT_TRACE_CALL_MAX; call++) {
        table->calls[call] = make_call(reader, call);
    }
}

static void fill_effects(struct ft_scan_calls *table)
{
    for (unsigned file_class = 0; file_class < FT_SCAN_VARIANTS / 2; file_class++) {
        for (int is_memory = 0; is_memory < 2; is_memory++) {
            struct ft_scan_effect *effects = table->effects[ft_scan_variant(file_class, is_memory)];
            for (unsigned call = 0; call < FT_TRACE_CALL_MAX; call++) {
                effects[call] = ft_scan_effect_of(&table->calls[call], file_class, FT_FILE_CLASS_NONE, is_memory);
            }
        }
    }
}

const struct ft_scan_calls **ft_scan_make_calls(const struct ft_trace_set *set)
{
    size_t readers = ft_trace_set_reader_count(set);
    const struct ft_scan_calls **calls = ft_cli_alloc(readers * sizeof(const struct ft_scan_calls *));
    struct ft_scan_calls *table = NULL;
    for (size_t r = 0; r < readers; r++) {
        table = table ? table : ft_cli_alloc(sizeof(*table));
        fill(table, ft_trace_set_reader(set, r));
        if (r > 0 && memcmp(table->calls, calls[r - 1]->calls, sizeof(table->calls)) == 0) {
            calls[r] = calls[r - 1];
        } else {
            fill_effects(table);
            calls[r] = table;
            table = NULL;
        }
    }
    free(table);
    return calls;
}

bool ft_scan_has_reuse(const struct ft_scan_work *work, enum ft_reuse_kind kind)
{
    for (size_t r = 0; r < ft_trace_set_reader_count(work->set); r++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(work->set, r);
        for (unsigned call = 0; call < FT_TRACE_CALL_MAX; call++) {
            if (work->calls[r]->calls[call].reuse == kind && ft_trace_reader_call(reader, call)) {
                return true;
            }
        }
    }
    return false;
}

void ft_scan_free_calls(const struct ft_scan_calls **calls, const struct ft_trace_set *set)
{
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        if (r == 0 || calls[r] != calls[r - 1]) {
            free((void *)(uintptr_t)calls[r]);
        }
    }
    free((void *)calls);
}
