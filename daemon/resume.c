// SPDX-License-Identifier: MIT
#include "daemon/resume.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "proto/trace_resume.h"

_Static_assert(FT_SHIM_GAP_COUNT <= (int)FT_RESUME_GAPS_MAX, "gaps fit");

static struct ft_trace_kernel kernel_of(const struct ft_process_counters *counters)
{
    struct ft_trace_kernel kernel = {.is_known = counters->is_known};
#define X(name) kernel.name = counters->name;
    FT_PROCESS_COUNTERS(X)
#undef X
    return kernel;
}

static struct ft_trace_kernel kernel_of_children(struct ft_process *process)
{
    struct ft_trace_kernel kernel = {0};
#define X(name)                                         \
    kernel.name = atomic_load(&process->children.name); \
    kernel.is_known |= kernel.name != 0;
    FT_PROCESS_COUNTERS(X)
#undef X
    return kernel;
}

static void put_known(struct ft_drain *drain, struct ft_process *process, struct ft_name *name)
{
    bool is_whole = name->bytes_got == name->bytes;
    bool is_closed = name->closed_in != 0;
    if (is_whole)
        ft_names_join(&process->names, name);
    struct ft_trace_known known = {
        .process = process->trace_id,
        .id = name->id,
        .base = name->is_joined || is_closed ? 0 : name->base,
        .bits = (uint8_t)((name->is_kept ? FT_KNOWN_KEPT : 0) | (name->is_cut ? FT_KNOWN_CUT : 0) |
                          (name->has_inode ? FT_KNOWN_HAS_INODE : 0) | (is_closed ? FT_KNOWN_CLOSED : 0)),
        .kind = name->kind,
        .define = name->define,
        .length = is_whole || is_closed ? 0 : name->bytes,
        .text = {.data = name->text, .len = is_closed ? 0 : name->bytes_got},
        .device = name->has_inode && !is_closed ? name->device : 0,
        .inode = name->has_inode && !is_closed ? name->inode : 0,
        .birth = name->has_inode && !is_closed ? name->birth : 0,
    };
    name->is_told = ft_trace_writer_put_known(drain->writer, &known) == 0 && !is_closed;
}

static void put_fresh_names(struct ft_drain *drain, struct ft_process *process)
{
    for (uint32_t i = 0; i < ft_names_fresh_count(&process->names); i++) {
        struct ft_name *name = ft_names_fresh(&process->names, i);
        if (name)
            put_known(drain, process, name);
    }
    ft_names_note_told(&process->names);
}

static void put_tags(struct ft_drain *drain, struct ft_process *process, bool with_block)
{
    struct ft_trace_line_tags *lines = calloc(process->lines_count ? process->lines_count : 1, sizeof(*lines));
    uint32_t all_count;
    const uint32_t *all = ft_tag_times_newest(&process->tags_all, &all_count);
    struct ft_trace_tagged tagged = {.process = process->trace_id, .all = all, .all_count = all_count, .lines = lines};
    for (uint32_t i = 0; lines && i < process->lines_count; i++)
        if (process->lines[i].tags_count)
            lines[tagged.line_count++] = (struct ft_trace_line_tags){.line = i,
                                                                     .tid = process->lines[i].tid,
                                                                     .ordinal = process->lines[i].ordinal,
                                                                     .tags = process->lines[i].tags,
                                                                     .count = process->lines[i].tags_count};
    ft_trace_writer_put_tagged(drain->writer, &tagged, with_block);
    free(lines);
}

static size_t copy_lost(const struct ft_process *process, struct ft_trace_dropped *out)
{
    for (uint32_t i = 0; i < process->lost_count; i++)
        out[i] = (struct ft_trace_dropped){.call = process->lost[i].call,
                                           .count = process->lost[i].count,
                                           .bytes = process->lost[i].bytes,
                                           .time_ns = process->lost[i].time_ns};
    return process->lost_count;
}

void ft_resume_put(struct ft_drain *drain, struct ft_process *process, bool is_new)
{
    struct ft_trace_dropped *lost = calloc(process->lost_count ? process->lost_count : 1, sizeof(*lost));
    struct ft_trace_resume resume = {
        .process = process->trace_id,
        .start_time = atomic_load(&process->start_time),
        .clock = process->clock,
        .image = process->image,
        .gid = process->gid,
        .parent_segment = process->parent_segment,
        .segment_before = process->segment_before,
        .stored = process->stored,
        .vfork_rows = process->vfork_rows,
        .first = kernel_of(&process->first_counters),
        .children = kernel_of_children(process),
        .dropped_calls = lost,
        .dropped_calls_count = lost ? copy_lost(process, lost) : 0,
        .names_lost = process->names.lost + process->names_forgotten,
        .last_event_ns = process->last_event_ns,
    };
    memcpy(resume.dropped, process->dropped, sizeof(resume.dropped));
    for (size_t i = 0; i < FT_SHIM_GAP_COUNT; i++)
        resume.gaps[i] = process->gap_stated[i];
    ft_trace_writer_put_resume(drain->writer, &resume);
    free(lost);
    if (!is_new)
        return;
    process->names.is_all_fresh = true;
    put_fresh_names(drain, process);
    // None of its rows waits in the block that is being built: its tags hold for what comes.
    if (process->context_version)
        put_tags(drain, process, false);
}

void ft_resume_put_news(struct ft_drain *drain, struct ft_process *process)
{
    put_fresh_names(drain, process);
    if (process->context_version != process->context_version_told)
        put_tags(drain, process, true);
}

void ft_resume_note_written(struct ft_process *process)
{
    process->context_version_told = process->context_version;
}
