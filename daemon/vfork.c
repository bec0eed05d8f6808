// SPDX-License-Identifier: MIT
#include "daemon/vfork.h"

#include <stdlib.h>

#include "daemon/account.h"
#include "daemon/inside.h"
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

// The child whose rows come now; NULL where there is none.
static struct ft_process_vfork_level *innermost(const struct ft_process_line *line)
{
    uint32_t depth = line->vfork_depth < FT_PROCESS_VFORK_LEVELS ? line->vfork_depth : FT_PROCESS_VFORK_LEVELS;
    return depth && line->vforks ? &line->vforks[depth - 1] : NULL;
}

// The chunk that was taken for a begin record has a head that tells of it already.
static bool is_the_same_begin(const struct ft_process_line *line, uint32_t pid)
{
    return line->vfork_depth == 1 && line->vforks && line->vforks[0].pid == pid;
}

// One child more; NULL where it is not told apart.
static struct ft_process_vfork_level *begin_level(struct ft_process_line *line, uint32_t pid)
{
    if (!line->vforks)
        line->vforks = calloc(FT_PROCESS_VFORK_LEVELS, sizeof(*line->vforks));
    if (line->vfork_depth++ >= FT_PROCESS_VFORK_LEVELS || !line->vforks)
        return NULL;
    struct ft_process_vfork_level *vfork = innermost(line);
    *vfork = (struct ft_process_vfork_level){.pid = pid};
    return vfork;
}

// What a client claims, so it is kept between its own start and now.
static int64_t begin_ns(struct ft_drain *drain, const struct ft_process *process, uint64_t ticks)
{
    int64_t at_ns = ft_process_ns(process, drain->view, ticks);
    return at_ns < process->start_ns || at_ns > drain->now_ns ? process->start_ns : at_ns;
}

bool ft_vfork_begin(struct ft_drain *drain, struct ft_process_line *line, const struct ft_piece *piece)
{
    const uint64_t *record = ft_record_at(piece->bytes, piece->to);
    uint32_t pid = (uint32_t)record[1];
    if (is_the_same_begin(line, pid))
        return true;
    struct ft_process_vfork_level *vfork = begin_level(line, pid);
    if (!vfork)
        return true;
    vfork->start_ns = begin_ns(drain, piece->process, record[2]);
    if (!vfork->pid)
        vfork->pid = find_child(drain, piece, piece->to);
    if (vfork->pid || !ft_drain_may_wait(drain, piece))
        return true;
    line->vfork_depth--;
    return false;
}

// The record that a child's stands under: that of the child around it, or the process's own.
static void find_parent(const struct ft_drain *drain, const struct ft_process *process,
                        const struct ft_process_line *line, struct ft_trace_process *record)
{
    const struct ft_process_vfork_level *vfork = innermost(line);
    const struct ft_process_vfork_level *outer = vfork > line->vforks ? vfork - 1 : NULL;
    if (outer && outer->pid) {
        record->parent_pid = ft_inside_find_child(process->job, process, outer->pid, outer->start_ns);
        record->parent = outer->part == drain->part ? outer->process : 0;
        return;
    }
    record->parent_pid = process->pid;
    record->parent = process->trace_part == drain->part ? process->trace_id : 0;
}

// The arguments in it are to be freed.
static void fill_record(const struct ft_drain *drain, const struct ft_process *process,
                        const struct ft_process_line *line, struct ft_trace_process *record)
{
    size_t argv_count;
    struct ft_bytes *argv = ft_account_make_argv(process, &argv_count);
    const struct ft_process_vfork_level *vfork = innermost(line);
    *record = (struct ft_trace_process){
        .pid = ft_inside_find_child(process->job, process, vfork->pid, vfork->start_ns),
        .ns_pid = vfork->pid,
        .start_ns = vfork->start_ns,
        .uid = process->uid,
        .exe = process->exe,
        .argv = argv,
        .argv_count = argv_count,
        .cwd = process->cwd,
        .job = ft_identity_record(&process->identity),
        .tags = process->tags,
        .tags_count = process->tags_count,
        .emitted = vfork->rows,
        .stored = vfork->rows,
    };
    find_parent(drain, process, line, record);
}

// A daemon before us may have begun its record: then its key stays, and its rows count on.
static void begin_record(struct ft_process *process, struct ft_process_vfork_level *vfork)
{
    vfork->start_ns = vfork->start_ns ? vfork->start_ns : process->start_ns;
    vfork->rows = 0;
    for (uint32_t i = 0; i < process->vforks_before_count; i++) {
        struct ft_process_vfork *before = &process->vforks_before[i];
        if (before->pid != vfork->pid)
            continue;
        vfork->start_ns = before->start_ns;
        vfork->rows = before->rows;
        *before = process->vforks_before[--process->vforks_before_count];
        return;
    }
}

static void make_record(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line)
{
    struct ft_trace_process record;
    struct ft_process_vfork_level *vfork = innermost(line);
    if (!vfork->part)
        begin_record(process, vfork);
    fill_record(drain, process, line, &record);
    int64_t id = ft_trace_writer_new_process(drain->writer, &record);
    free((void *)(uintptr_t)record.argv);
    struct ft_trace_thread thread = {.process = id > 0 ? (uint32_t)id : 0, .tid = vfork->pid};
    int64_t thread_id = id > 0 ? ft_trace_writer_new_thread(drain->writer, &thread) : 0;
    vfork->process = id > 0 ? (uint32_t)id : 0;
    vfork->thread = thread_id > 0 ? (uint32_t)thread_id : 0;
    vfork->part = drain->part;
}

uint32_t ft_vfork_thread(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line)
{
    struct ft_process_vfork_level *vfork = innermost(line);
    if (!vfork || !vfork->pid)
        return 0;
    if (vfork->part != drain->part)
        make_record(drain, process, line);
    if (vfork->thread) {
        vfork->rows++;
        process->vfork_rows_pending++;
    }
    return vfork->thread;
}

static bool has_begun_before(const struct ft_process *process, uint32_t pid)
{
    for (uint32_t i = 0; i < process->vforks_before_count; i++)
        if (process->vforks_before[i].pid == pid)
            return true;
    return false;
}

static void end_record(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line)
{
    struct ft_process_vfork_level *vfork = innermost(line);
    if (!vfork || !drain->writer)
        return;
    if (!vfork->part && vfork->pid && has_begun_before(process, vfork->pid))
        make_record(drain, process, line);
    if (vfork->part != drain->part || !vfork->process)
        return;
    struct ft_trace_process record;
    fill_record(drain, process, line, &record);
    record.end_ns = process->last_event_ns;
    record.exit = line->exec.path ? FT_EXIT_EXEC : FT_EXIT_NONE;
    ft_trace_writer_put_process(drain->writer, vfork->process, &record);
    free((void *)(uintptr_t)record.argv);
}

void ft_vfork_end(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line)
{
    if (line->vfork_depth <= FT_PROCESS_VFORK_LEVELS)
        end_record(drain, process, line);
    line->vfork_depth -= line->vfork_depth != 0;
}

void ft_vfork_finish(struct ft_drain *drain, struct ft_process *process)
{
    for (uint32_t i = 0; i < process->lines_count; i++) {
        struct ft_process_line *line = &process->lines[i];
        if (line->vfork_depth > FT_PROCESS_VFORK_LEVELS)
            line->vfork_depth = FT_PROCESS_VFORK_LEVELS;
        while (line->vfork_depth)
            ft_vfork_end(drain, process, line);
    }
    while (drain->writer && process->vforks_before_count) {
        struct ft_process_vfork_level vfork = {.pid = process->vforks_before[0].pid};
        struct ft_process_line line = {.vfork_depth = 1, .vforks = &vfork};
        ft_vfork_end(drain, process, &line);
    }
}

void ft_vfork_restore(struct ft_process_line *line, const uint8_t *chunk, const struct ft_chunk_head *head, unsigned to)
{
    line->vfork_depth = 0;
    if (head->vfork_pid)
        begin_level(line, head->vfork_pid == UINT32_MAX ? 0 : head->vfork_pid);
    for (unsigned at = 0; at < to;) {
        int slots = ft_record_slots(chunk, at, head->fill);
        if (slots < 0)
            return;
        const uint64_t *record = ft_record_at(chunk, at);
        if (slots && FT_W0_KIND(record[0]) == FT_RECORD_VFORK && FT_W0_CALL(record[0])) {
            if (!is_the_same_begin(line, (uint32_t)record[1]))
                begin_level(line, (uint32_t)record[1]);
        } else if (slots && FT_W0_KIND(record[0]) == FT_RECORD_VFORK && line->vfork_depth) {
            line->vfork_depth--;
        }
        at = slots ? at + (unsigned)slots : ft_record_find_published(chunk, at + 1, head->fill);
    }
}
