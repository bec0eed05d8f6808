// SPDX-License-Identifier: MIT
#include "daemon/vfork.h"

#include <stdlib.h>

#include "daemon/account.h"
#include "daemon/record.h"

// Follows the records of a line over its chunks, from one slot on. 0 where the end is not among them.
static uint32_t find_child(const struct ft_drain *drain, const struct ft_piece *piece, unsigned at)
{
    const struct ft_piece *end = drain->batch->pieces + drain->batch->count;
    unsigned depth = 0;
    for (const struct ft_piece *one = piece; one < end; at = (++one < end) ? one->to : 0) {
        if (one->process != piece->process || one->head.line != piece->head.line)
            return 0;
        while (at < one->end) {
            int slots = ft_record_slots(one->bytes, at, one->head.fill);
            if (slots < 0)
                return 0;
            if (slots == 0) {
                at = ft_record_find_published(one->bytes, at + 1, one->head.fill);
                continue;
            }
            const uint64_t *record = ft_record_at(one->bytes, at);
            if (FT_W0_KIND(record[0]) == FT_RECORD_VFORK) {
                depth += FT_W0_CALL(record[0]) ? 1 : -1u;
                if (depth == 0)
                    return (uint32_t)record[1];
            }
            at += (unsigned)slots;
        }
    }
    return 0;
}

bool ft_vfork_begin(struct ft_drain *drain, struct ft_process_line *line, const struct ft_piece *piece)
{
    if (line->vfork_depth++)
        return true; // a child's child: its rows go with the child's
    line->vfork_pid = (uint32_t)ft_record_at(piece->bytes, piece->to)[1];
    if (!line->vfork_pid)
        line->vfork_pid = find_child(drain, piece, piece->to);
    line->vfork_rows = 0;
    line->vfork_part = 0;
    if (line->vfork_pid || !ft_drain_may_wait(drain, piece))
        return true;
    line->vfork_depth = 0;
    return false;
}

// The arguments in it are to be freed.
static void fill_record(const struct ft_drain *drain, const struct ft_process *process,
                        const struct ft_process_line *line, struct ft_trace_process *record)
{
    size_t argv_count;
    struct ft_bytes *argv = ft_account_make_argv(process, &argv_count);
    *record = (struct ft_trace_process){
        .pid = line->vfork_pid,
        .parent_pid = process->pid,
        .parent = process->trace_part == drain->part ? process->trace_id : 0,
        .start_ns = line->vfork_start_ns,
        .uid = process->uid,
        .exe = process->exe,
        .argv = argv,
        .argv_count = argv_count,
        .cwd = process->cwd,
        .job =
            {
                .id = FT_BYTES(process->identity.job),
                .source = process->identity.source,
                .rank = process->identity.rank,
                .local_rank = process->identity.local_rank,
            },
        .emitted = line->vfork_rows,
        .stored = line->vfork_rows,
    };
}

uint32_t ft_vfork_thread(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line)
{
    if (!line->vfork_pid || !line->vfork_depth)
        return 0;
    line->vfork_rows++;
    process->vfork_rows++;
    if (line->vfork_part == drain->part)
        return line->vfork_thread;
    struct ft_trace_process record;
    line->vfork_start_ns = process->last_event_ns;
    fill_record(drain, process, line, &record);
    int64_t id = ft_trace_writer_new_process(drain->writer, &record);
    free((void *)(uintptr_t)record.argv);
    struct ft_trace_thread thread = {.process = id > 0 ? (uint32_t)id : 0, .tid = line->vfork_pid};
    int64_t thread_id = id > 0 ? ft_trace_writer_new_thread(drain->writer, &thread) : 0;
    line->vfork_process = id > 0 ? (uint32_t)id : 0;
    line->vfork_thread = thread_id > 0 ? (uint32_t)thread_id : 0;
    line->vfork_part = drain->part;
    return line->vfork_thread;
}

void ft_vfork_end(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line)
{
    if (line->vfork_depth && --line->vfork_depth)
        return;
    if (drain->writer && line->vfork_part == drain->part && line->vfork_process) {
        struct ft_trace_process record;
        fill_record(drain, process, line, &record);
        record.end_ns = process->last_event_ns;
        record.exit = line->exec_path ? FT_EXIT_EXEC : FT_EXIT_NONE;
        ft_trace_writer_put_process(drain->writer, line->vfork_process, &record);
        free((void *)(uintptr_t)record.argv);
    }
    line->vfork_pid = 0;
    line->vfork_part = 0;
}
