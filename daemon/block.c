// SPDX-License-Identifier: MIT
#include "daemon/block.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/account.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/quota.h"
#include "daemon/resume.h"
#include "daemon/test_point.h"

// Copies that one round may hold: a job with thousands of processes takes several.
#define ROUND_CHUNKS_MAX 4096

uint64_t ft_block_waiting(const struct ft_process *process)
{
    const struct ft_segment_counts *counts = &process->segment.counts;
    uint64_t known = process->stored + counts->dropped + counts->limited + process->dropped[FT_CAUSE_DISK_FULL] +
                     process->dropped[FT_CAUSE_DAEMON_LIMIT] + process->dropped[FT_CAUSE_CAPPED];
    if (process->segment.fd < 0 || counts->emitted <= known)
        return 0;
    // A line may say anything; no more can wait than there are slots.
    uint64_t most = (uint64_t)counts->chunks_used * FT_CHUNK_SLOTS;
    return counts->emitted - known < most ? counts->emitted - known : most;
}

static int64_t due_ns_of_processes(const struct ft_job *job, int64_t now_ns)
{
    const struct ft_config *config = &job->daemon->config;
    int64_t due_ns = INT64_MAX;
    uint64_t waiting = 0;
    for (const struct ft_process *process = job->processes; process; process = process->next) {
        if (atomic_load(&process->state) != FT_PROCESS_ALIVE) {
            int64_t end_ns = atomic_load(&process->ended_ns) + config->block_after_end_ns;
            due_ns = end_ns < due_ns ? end_ns : due_ns;
        }
        if (!process->oldest_ns)
            continue;
        waiting += ft_block_waiting(process);
        int64_t age_ns = process->oldest_ns + config->block_age_ns;
        due_ns = age_ns < due_ns ? age_ns : due_ns;
        if (process->is_pressed)
            return now_ns;
    }
    return waiting >= (uint64_t)config->block_events ? now_ns : due_ns;
}

int64_t ft_block_due_ns(const struct ft_job *job, int64_t now_ns)
{
    int64_t due_ns = due_ns_of_processes(job, now_ns);
    // Without a file there is nothing to do before the next try to make one.
    int64_t retry_ns = job->storage.writer ? 0 : job->storage.retry_ns;
    return due_ns > retry_ns ? due_ns : retry_ns;
}

// A file that is about to be followed by the next one ends with the processes as they stand.
static void put_last_records(struct ft_job *job, int64_t now_ns)
{
    if (!job->storage.writer || !ft_storage_wants_next(&job->storage, job, now_ns))
        return;
    ft_clock_view_init(job->view, &job->daemon->clock);
    struct ft_drain drain = {
        .writer = job->storage.writer,
        .part = job->storage.part,
        .view = job->view,
        .lives = &job->lives,
        .now_ns = now_ns,
    };
    for (struct ft_process *process = job->processes; process; process = process->next)
        if (process->trace_part == drain.part)
            ft_account_put(&drain, process);
}

void ft_block_begin(struct ft_job *job, struct ft_drain *drain, int64_t now_ns, bool must_not_wait)
{
    struct ft_daemon *daemon = job->daemon;
    put_last_records(job, now_ns);
    bool has_file = ft_storage_begin(&job->storage, job, now_ns) == 0;
    bool is_over = ft_spool_room_of(daemon, job->uid) == FT_ROOM_FOR_TOTALS;
    *drain = (struct ft_drain){
        .batch = &job->batch,
        .writer = has_file ? job->storage.writer : NULL,
        .no_rows = ft_storage_is_full(&job->storage, job, now_ns) || is_over,
        .part = job->storage.part,
        .no_news = is_over,
        .cause = FT_CAUSE_DISK_FULL,
        .block = ++job->block_number,
        .now_ns = now_ns,
        .torn_wait_ns = daemon->config.torn_wait_ns,
        .view = job->view,
        .mounts = &daemon->mounts,
        .lives = &job->lives,
        .rows_max = (uint64_t)daemon->config.block_events,
        .live = ft_live_check(job, now_ns),
        .must_not_wait = must_not_wait,
    };
    ft_clock_tick(&daemon->clock, true);
    ft_clock_view_init(job->view, &daemon->clock);
    ft_storage_note_clock(&job->storage, &daemon->clock, now_ns);
    ft_lives_begin(&job->lives, job->storage.part, ft_clock_realtime_offset_ns());
    ft_mode_check_cap(job, drain);
}

void ft_block_cut_off(struct ft_job *job, struct ft_process *process, enum ft_cause cause)
{
    bool is_corrupt = cause == FT_CAUSE_CORRUPT;
    ft_log_limited_about(FT_LOG_WARNING,
                         FT_LOG_ABOUT(.message = FT_LOG_CUT_OFF, .job = job->identity.job, FT_LOG_USER(process->uid),
                                      .pid = process->pid),
                         "process %u (user %u): %s; cut off", process->pid, process->uid,
                         is_corrupt ? "its segment contradicts itself"
                                    : "over what max_user_memory and max_memory let its user have");
    if (is_corrupt)
        ft_status_add(&job->daemon->status, corrupt, 1);
    else
        ft_status_add(&job->daemon->status, refused_limit, 1);
    process->is_corrupt = is_corrupt;
    process->is_cut_off = true;
    process->oldest_ns = 0;
    ft_growth_cut_off(process);
}

// Rows of pieces [from, to) did not reach the file: their totals do.
static void count_as_lost(struct ft_drain *drain, struct ft_batch *batch, size_t from, size_t to, enum ft_cause cause)
{
    struct ft_drain lost = *drain;
    lost.no_rows = lost.is_replay = true;
    lost.cause = cause;
    for (size_t i = from; i < to; i++) {
        struct ft_piece *piece = &batch->pieces[i];
        uint16_t end = piece->end, reached = piece->to;
        piece->process->rows_pending = piece->process->vfork_rows_pending = piece->process->capped_pending = 0;
        piece->to = piece->written;
        piece->end = reached;
        while (piece->to < reached && ft_drain_piece(&lost, piece) == FT_DRAIN_DONE && piece->to < reached)
            piece->to++; // what was passed over before
        piece->to = reached;
        piece->end = end;
    }
}

// Of processes of which every event is kept, or of which sums are.
static size_t make_ranges(const struct ft_batch *batch, size_t from, size_t to, bool of_sums,
                          struct ft_trace_range *ranges)
{
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        const struct ft_piece *piece = &batch->pieces[i];
        if (piece->to > piece->written && (piece->process->mode != FT_MODE_TRACE) == of_sums)
            ranges[count++] = (struct ft_trace_range){
                .segment = piece->process->segment.id,
                .chunk = piece->chunk,
                .fill = piece->head.fill,
                .from = piece->written,
                .to = piece->to,
            };
    }
    return count;
}

// What a successor needs of what pieces [from, to) said besides rows. False where there is nothing. It is names for the most
// part: of a user whose names are to take no more room, they are told when there is some again.
static bool put_news(struct ft_drain *drain, const struct ft_batch *batch, size_t from, size_t to)
{
    bool has_news = false;
    const struct ft_process *last = NULL;
    bool is_wanted = drain->writer && !drain->no_news;
    for (size_t i = from; is_wanted && i < to; i++) {
        const struct ft_piece *piece = &batch->pieces[i];
        has_news |= piece->to > piece->written;
        if (piece->process != last && piece->process->trace_part == drain->part)
            ft_resume_put_news(drain, piece->process);
        last = piece->process;
    }
    return has_news;
}

// Rows and sums, or news alone, into the writer's buffer.
static int end_blocks(struct ft_job *job, struct ft_drain *drain, size_t from, size_t to)
{
    struct ft_trace_range *ranges = malloc((to - from + 1) * sizeof(*ranges));
    uint64_t rows = ft_trace_writer_rows(drain->writer), sums = ft_trace_writer_profiled(drain->writer);
    if (!ranges)
        return rows || sums ? -ENOMEM : ft_trace_writer_end_block(drain->writer, NULL, 0);
    size_t count = rows ? make_ranges(&job->batch, from, to, false, ranges) : 0;
    int r = ft_trace_writer_end_block(drain->writer, ranges, count);
    if (r == 0 && sums) {
        count = make_ranges(&job->batch, from, to, true, ranges);
        r = ft_trace_writer_end_profile(drain->writer, ranges, count);
    }
    free(ranges);
    return r;
}

static void note_no_memory(struct ft_job *job, int64_t now_ns)
{
    atomic_store(&job->daemon->status.no_memory_ns, now_ns);
    ft_log_limited_about(FT_LOG_ERR, FT_LOG_ABOUT(.job = job->identity.job, FT_LOG_USER(job->uid)),
                         "job %s: no memory for a block: its events are counted, not stored", job->key);
}

// Rows, sums, or news alone, into the file. -errno: rows and sums are lost, by *cause.
static int write_rows(struct ft_job *job, struct ft_drain *drain, size_t from, size_t to, enum ft_cause *cause)
{
    uint64_t rows = ft_trace_writer_rows(drain->writer), rows_lost;
    uint64_t events = rows + ft_trace_writer_profiled(drain->writer);
    int r = end_blocks(job, drain, from, to);
    FT_TEST_POINT(block_built);
    *cause = r < 0 ? FT_CAUSE_DAEMON_LIMIT : FT_CAUSE_DISK_FULL;
    if (r < 0) {
        ft_trace_writer_drop_rows(drain->writer);
        note_no_memory(job, drain->now_ns);
    } else {
        r = ft_storage_write(&job->storage, job, drain->now_ns, &rows_lost);
    }
    FT_TEST_POINT(block_written);
    if (r < 0 || !events)
        return r;
    job->events += rows;
    ft_status_add(&job->daemon->status, blocks, 1);
    ft_status_add(&job->daemon->status, events, events);
    atomic_fetch_add(&job->storage.rows, events);
    return 0;
}

// Writes the rows of pieces [from, to) and frees what they came from.
static void flush_rows(struct ft_job *job, struct ft_drain *drain, size_t from, size_t to)
{
    struct ft_batch *batch = &job->batch;
    uint64_t rows = drain->writer ? ft_trace_writer_rows(drain->writer) + ft_trace_writer_profiled(drain->writer) : 0;
    bool has_news = put_news(drain, batch, from, to);
    enum ft_cause cause;
    int r = rows || (has_news && !drain->no_rows) ? write_rows(job, drain, from, to, &cause) : 0;
    if (r < 0 && rows)
        count_as_lost(drain, batch, from, to, cause);
    for (size_t i = from; i < to; i++) {
        struct ft_piece *piece = &batch->pieces[i];
        piece->process->stored += piece->process->rows_pending;
        piece->process->vfork_rows += piece->process->vfork_rows_pending;
        piece->process->dropped[FT_CAUSE_CAPPED] += piece->process->capped_pending;
        piece->process->rows_pending = piece->process->vfork_rows_pending = piece->process->capped_pending = 0;
        if (r == 0 && has_news)
            ft_resume_note_written(piece->process);
    }
    ft_batch_commit(batch, from, to);
    for (size_t i = from; i < to; i++)
        batch->pieces[i].written = batch->pieces[i].to;
}

// Pieces [from, to) of one process; *flushed is the first piece with rows that are not in the file.
static int drain_process(struct ft_job *job, struct ft_drain *drain, size_t from, size_t to, size_t *flushed)
{
    struct ft_batch *batch = &job->batch;
    struct ft_process *process = batch->pieces[from].process;
    int r = ft_drain_names(drain, batch, from, to);
    if (r == 0 && drain->writer && process->trace_part != drain->part)
        r = ft_account_put(drain, process);
    uint32_t late_line = UINT32_MAX;
    for (size_t i = from; r >= 0 && i < to; i++) {
        if (batch->pieces[i].head.line == late_line)
            continue;
        r = ft_drain_piece(drain, &batch->pieces[i]);
        while (r == FT_DRAIN_BLOCK_FULL) {
            flush_rows(job, drain, *flushed, i + 1);
            *flushed = i;
            r = ft_drain_piece(drain, &batch->pieces[i]);
        }
        late_line = r == FT_DRAIN_LATE ? batch->pieces[i].head.line : late_line;
    }
    return r;
}

// Everything that processes from `process` on have, as far as one round holds. Returns the process to go on with.
static struct ft_process *run_round(struct ft_job *job, struct ft_drain *drain, struct ft_process *process)
{
    struct ft_batch *batch = &job->batch;
    struct ft_process *rest = process;
    ft_batch_reset(batch);
    for (; rest && batch->chunks_used < ROUND_CHUNKS_MAX; rest = rest->next) {
        size_t first;
        bool is_over = atomic_load(&rest->state) != FT_PROCESS_ALIVE;
        rest->is_drained = is_over;
        if (rest->segment.fd < 0 || rest->is_corrupt || (!rest->oldest_ns && !is_over && !drain->must_not_wait))
            continue;
        int r = ft_batch_collect(batch, rest, &first);
        if (r == -EBADMSG)
            rest->is_corrupt = true;
        else if (r < 0)
            rest->is_drained = false;
    }
    if (batch->count)
        FT_TEST_POINT(copied);
    // Behind every record that was copied there is a clock pair now.
    ft_clock_tick(&job->daemon->clock, true);
    ft_clock_view_init(job->view, &job->daemon->clock);
    size_t flushed = 0;
    for (size_t from = 0, to; from < batch->count; from = to) {
        struct ft_process *owner = batch->pieces[from].process;
        for (to = from; to < batch->count && batch->pieces[to].process == owner; to++)
            ;
        if (drain_process(job, drain, from, to, &flushed) == -EBADMSG)
            owner->is_corrupt = true;
    }
    flush_rows(job, drain, flushed, batch->count);
    return rest;
}

void ft_block_run(struct ft_job *job, struct ft_drain *drain)
{
    for (struct ft_process *process = job->processes; process;)
        process = run_round(job, drain, process);
    for (struct ft_process *process = job->processes; process; process = process->next) {
        ft_names_end_block(&process->names, drain->block);
        process->is_pressed = false;
        if (process->is_corrupt && process->segment.fd >= 0)
            ft_block_cut_off(job, process, FT_CAUSE_CORRUPT);
        if (process->segment.fd >= 0 && !ft_quota_settle(job, process))
            ft_block_cut_off(job, process, FT_CAUSE_DAEMON_LIMIT);
        if (process->oldest_ns || process->is_drained)
            process->known_ns = drain->now_ns;
        if (!ft_block_waiting(process))
            process->oldest_ns = 0;
        else if (process->oldest_ns)
            process->oldest_ns = drain->now_ns;
    }
}
