// SPDX-License-Identifier: MIT
#include "daemon/pass.h"

#include <errno.h>

#include "daemon/account.h"
#include "daemon/block.h"
#include "daemon/counted.h"
#include "daemon/daemon.h"
#include "daemon/ending.h"
#include "daemon/inside.h"
#include "daemon/log.h"
#include "daemon/procfs.h"
#include "daemon/share.h"
#include "daemon/test_point.h"

// Looks at idle processes that one job makes in a second, at most: with few processes they are looked at more often
// than poll_idle says, so that the first burst after a rest finds its ring empty.
#define IDLE_LOOKS_PER_SECOND 5000
#define IDLE_MIN_NS INT64_C(10000000)
#define RECORD_INTERVAL_NS INT64_C(1000000000)
// How long the record of a new process may wait to be in the file: from then on it is known that there was one.
#define NEW_RECORD_NS INT64_C(100000000)

static int64_t idle_interval_ns(const struct ft_job *job)
{
    int64_t most = job->daemon->config.poll_idle_ns;
    int64_t fair = (int64_t)job->worker_count * (INT64_C(1000000000) / IDLE_LOOKS_PER_SECOND);
    fair = fair < IDLE_MIN_NS ? IDLE_MIN_NS : fair;
    return fair < most ? fair : most;
}

static void take_inbox(struct ft_job *job, int64_t now_ns)
{
    pthread_mutex_lock(&job->lock);
    struct ft_process *inbox = job->inbox;
    job->inbox = NULL;
    job->inbox_count = 0;
    pthread_mutex_unlock(&job->lock);
    // It was pushed at its head: turned round, the oldest comes first and the newest lands at the list's head.
    struct ft_process *in_order = NULL;
    for (struct ft_process *next; inbox; inbox = next) {
        next = inbox->next;
        inbox->next = in_order;
        in_order = inbox;
    }
    for (struct ft_process *next; in_order; in_order = next) {
        next = in_order->next;
        in_order->previous = NULL;
        in_order->next = job->processes;
        if (job->processes)
            job->processes->previous = in_order;
        job->processes = in_order;
        job->worker_count++;
        job->has_had_process = true;
        ft_children_note_attached(&job->children, in_order->pid, in_order->ns_pid, in_order->start_ns, in_order->exe);
        ft_inside_find_parent(job, in_order);
        in_order->next_look_ns = in_order->known_ns = now_ns;
        in_order->look_interval_ns = job->daemon->config.poll_busy_ns;
    }
}

static void look(struct ft_job *job, struct ft_process *process, int64_t now_ns)
{
    const struct ft_config *config = &job->daemon->config;
    bool changed = false;
    int r = process->segment.fd >= 0 ? ft_segment_look(&process->segment, &changed) : 0;
    if (r == -EBADMSG)
        ft_block_cut_off(job, process, FT_CAUSE_CORRUPT);
    bool is_more_due = changed || now_ns >= process->next_more_ns;
    if (is_more_due)
        ft_growth_look(job, process, changed, now_ns);
    if (changed) {
        process->look_interval_ns = config->poll_busy_ns;
        if (!process->oldest_ns && ft_block_waiting(process))
            process->oldest_ns = now_ns;
        if (now_ns >= process->next_counters_ns) {
            ft_process_read_counters(process);
            process->next_counters_ns = now_ns + config->counters_interval_ns;
        }
    } else {
        int64_t idle_ns = idle_interval_ns(job);
        process->look_interval_ns *= 2;
        process->look_interval_ns = process->look_interval_ns < idle_ns ? process->look_interval_ns : idle_ns;
    }
    if (!process->oldest_ns)
        process->known_ns = now_ns;
    if (is_more_due) {
        if (ft_rings_look(process, now_ns))
            process->has_counts = job->has_counts = true;
        int64_t growth_ns = changed ? 0 : ft_growth_next_ns(process), rings_ns = process->rings.next_ns;
        process->next_more_ns = growth_ns < rings_ns ? growth_ns : rings_ns;
    }
    // On a grid, so that idle processes are looked at together: a pass for each would cost more than the looks.
    process->next_look_ns = now_ns + process->look_interval_ns;
    process->next_look_ns -= process->next_look_ns % process->look_interval_ns;
    if (process->next_look_ns <= now_ns)
        process->next_look_ns += process->look_interval_ns;
}

static bool is_over(struct ft_process *process)
{
    return atomic_load(&process->state) != FT_PROCESS_ALIVE;
}

// Hundreds that rest are looked at in a row, and what a look takes is mostly waiting for memory: what the next ones need is
// asked for while this one is looked at.
static void fetch_ahead(const struct ft_process *process)
{
    const struct ft_process *next = process->next, *after = next ? next->next : NULL;
    if (next)
        ft_segment_fetch(&next->segment);
    for (size_t at = 0; after && at < offsetof(struct ft_process, segment) + sizeof(after->segment); at += 64)
        __builtin_prefetch((const char *)after + at);
}

static void look_at_all(struct ft_job *job, int64_t now_ns)
{
    bool has_news = false;
    for (struct ft_process *process = job->processes; process; process = process->next) {
        fetch_ahead(process);
        if (is_over(process) || process->next_look_ns > now_ns)
            continue;
        look(job, process, now_ns);
        has_news |= process->oldest_ns != 0;
    }
    if (has_news)
        ft_clock_tick(&job->daemon->clock, false);
}

// Oldest first, so that a parent's record stands before its child's.
static void put_records(struct ft_job *job, struct ft_drain *drain, bool only_new)
{
    struct ft_process *process = drain->writer ? job->processes : NULL;
    while (process && process->next && (!only_new || process->next->trace_part != drain->part))
        process = process->next;
    for (; process; process = process->previous) {
        bool is_new = process->trace_part != drain->part;
        if (!is_new && (only_new || drain->now_ns < process->next_record_ns || !process->stored))
            continue;
        process->next_record_ns = drain->now_ns + RECORD_INTERVAL_NS;
        ft_account_put(drain, process);
        if (!is_new)
            ft_counted_put(drain, process, false);
    }
}

// Of processes whose rings were found to be busy.
static void put_counts(struct ft_job *job, struct ft_drain *drain)
{
    if (!job->has_counts || !drain->writer)
        return;
    for (struct ft_process *process = job->processes; process; process = process->next)
        if (process->has_counts && process->trace_part == drain->part)
            ft_counted_put(drain, process, false);
    for (struct ft_process *process = job->processes; process; process = process->next)
        process->has_counts = false;
    job->has_counts = false;
}

// What a new file begins with, besides processes.
static void put_beginning(struct ft_job *job, struct ft_drain *drain)
{
    if (!drain->writer)
        return;
    ft_children_put(&job->children, drain);
    // Behind the records of all processes that this file goes on with.
    for (size_t i = 0; i < job->taken_over_count; i++)
        ft_trace_writer_put_taken_over(drain->writer, &job->taken_over[i]);
    job->taken_over_count = 0;
}

static void unlink_process(struct ft_job *job, struct ft_process *process)
{
    if (process->previous)
        process->previous->next = process->next;
    else
        job->processes = process->next;
    if (process->next)
        process->next->previous = process->previous;
    job->worker_count--;
}

static void give_back(struct ft_job *job, struct ft_process *process)
{
    unlink_process(job, process);
    ft_live_note_gone(&job->live, process);
    if (is_over(process)) // one that lives on while we end still writes there
        ft_growth_take_back(process);
    ft_users_give_bytes(&job->daemon->users, process->uid, process->quota_bytes);
    pthread_mutex_lock(&job->lock);
    process->next = job->done;
    job->done = process;
    pthread_mutex_unlock(&job->lock);
}

// All that a process had is in the file by now. One whose exit status nobody knows yet may wait for it a little longer.
static bool may_finish(const struct ft_job *job, struct ft_process *process, int64_t now_ns)
{
    if (!process->is_drained)
        return false;
    if (process->is_lost)
        return true;
    // What it executed may have attached and not been admitted yet.
    bool may_have_successor = process->exec.path && atomic_load(&process->state) != FT_PROCESS_REPLACED;
    return now_ns >= atomic_load(&process->ended_ns) + job->daemon->config.block_after_end_ns ||
           (!may_have_successor && ft_ending_learn_exit(process));
}

// Without a file they stay, with their totals, until there is one.
static void finish_processes(struct ft_job *job, struct ft_drain *drain, bool is_finishing)
{
    if (!drain->writer && !is_finishing)
        return;
    for (struct ft_process *process = job->processes, *next; process; process = next) {
        next = process->next;
        if (!is_finishing && !may_finish(job, process, drain->now_ns))
            continue;
        int64_t end_ns = process->is_drained && !process->is_lost ? atomic_load(&process->ended_ns) : 0;
        int gap = process->is_lost ? FT_GAP_DAEMON_STOPPED : atomic_load(&job->daemon->ending_gap);
        ft_ending_finish(drain, process, end_ns, (enum ft_gap)gap);
        give_back(job, process);
    }
}

// Processes whose end the loop has not seen yet: it has been told to stop looking.
static void see_ends(struct ft_job *job, int64_t now_ns)
{
    for (struct ft_process *process = job->processes; process; process = process->next) {
        if (is_over(process) || process->pidfd < 0 || !ft_procfs_has_ended(process->pidfd))
            continue;
        ft_process_catch_end(process, FT_PROCESS_ENDED);
        ft_process_note_end(process, FT_PROCESS_ENDED, now_ns);
    }
}

static void write_records(struct ft_job *job, struct ft_drain *drain)
{
    uint64_t rows_lost;
    FT_TEST_POINT(records_put);
    if (drain->writer && ft_trace_writer_flush(drain->writer) == 0)
        ft_storage_write(&job->storage, job, drain->now_ns, &rows_lost);
    FT_TEST_POINT(records_written);
    job->has_records = false;
    job->next_records_ns = drain->now_ns + NEW_RECORD_NS;
}

static bool is_any_to_be_drained(const struct ft_job *job)
{
    for (struct ft_process *process = job->processes; process; process = process->next)
        if (is_over(process) && !process->is_drained)
            return true;
    return false;
}

static int64_t refused_due_ns(struct ft_job *job)
{
    pthread_mutex_lock(&job->lock);
    int64_t due_ns = ft_refused_due_ns(&job->refused);
    pthread_mutex_unlock(&job->lock);
    return due_ns;
}

// Whether any process of the job was refused.
static bool put_refused(struct ft_job *job, struct ft_drain *drain)
{
    pthread_mutex_lock(&job->lock);
    if (drain->writer)
        ft_refused_put(&job->refused, drain->writer, drain->now_ns);
    bool is_any = job->refused.refused_count > 0;
    pthread_mutex_unlock(&job->lock);
    return is_any;
}

static void finish_job(struct ft_job *job, int64_t now_ns)
{
    struct ft_drain drain;
    see_ends(job, now_ns);
    bool has_gaps = refused_due_ns(job) != INT64_MAX || job->children.due_ns != INT64_MAX;
    if (job->processes || job->must_have_file || has_gaps || job->taken_over_count) {
        ft_block_begin(job, &drain, now_ns, true);
        bool is_refused = put_refused(job, &drain);
        if (job->must_have_file && !job->daemon->config.killed_by[0]) // which might have seen it
            ft_ending_put_command(&drain, job->daemon->config.command, !job->has_had_process && !is_refused);
        put_records(job, &drain, true);
        put_beginning(job, &drain);
        // Who ends while the others are drained is drained again.
        do {
            ft_block_run(job, &drain);
            see_ends(job, now_ns);
        } while (is_any_to_be_drained(job));
        if (!drain.writer && job->processes)
            ft_log_about(FT_LOG_ERR,
                         FT_LOG_ABOUT(.message = FT_LOG_NOT_WRITTEN, .job = job->identity.job, FT_LOG_USER(job->uid)),
                         "job %s of user %u: no file could be made for it: what %u processes did is lost",
                         job->identity.job, job->uid, job->worker_count);
        finish_processes(job, &drain, true);
        ft_children_check(job, drain.writer, now_ns, true);
    }
    job->is_unwritten = !ft_storage_finish(&job->storage, job, now_ns);
    job->is_all_written = true;
}

static int64_t next_look_ns(const struct ft_job *job)
{
    int64_t next_ns = INT64_MAX;
    for (struct ft_process *process = job->processes; process; process = process->next)
        if (!is_over(process) && process->next_look_ns < next_ns)
            next_ns = process->next_look_ns;
    return next_ns;
}

static void run(struct ft_job *job)
{
    struct ft_drain drain;
    int64_t now_ns = ft_clock_mono_ns();
    // Read before the inbox: what was added before the job was told to finish is in it.
    bool is_finishing = atomic_load(&job->is_finishing);
    take_inbox(job, now_ns);
    if (is_finishing) {
        finish_job(job, now_ns);
        return;
    }
    bool has_new = job->processes && job->processes->trace_part == 0;
    job->has_records |= has_new || job->taken_over_count;
    look_at_all(job, now_ns);
    bool is_due = ft_block_due_ns(job, now_ns) <= now_ns;
    bool has_notes = job->children.due_ns <= now_ns || refused_due_ns(job) <= now_ns;
    bool must_write = is_due || has_notes || job->has_counts || (job->has_records && job->next_records_ns <= now_ns);
    if (has_new || must_write) {
        ft_block_begin(job, &drain, now_ns, false);
        put_records(job, &drain, true);
        put_beginning(job, &drain);
        if (is_due) {
            ft_block_run(job, &drain);
            put_records(job, &drain, false);
            finish_processes(job, &drain, false);
        }
        put_counts(job, &drain);
        ft_children_check(job, drain.writer, now_ns, false);
        put_refused(job, &drain);
        if (must_write)
            write_records(job, &drain);
        job->is_unwritten = !drain.writer || ft_storage_is_behind(&job->storage);
    }
    ft_queues_note(job);
    int64_t shown_ns = ft_live_show(job, now_ns);
    int64_t due_ns = ft_block_due_ns(job, now_ns), look_ns = next_look_ns(job);
    int64_t notes_ns = refused_due_ns(job);
    notes_ns = job->children.due_ns < notes_ns ? job->children.due_ns : notes_ns;
    if (notes_ns <= now_ns) // no file could be had for them
        notes_ns = now_ns + RECORD_INTERVAL_NS;
    due_ns = notes_ns < due_ns ? notes_ns : due_ns;
    due_ns = shown_ns < due_ns ? shown_ns : due_ns;
    job->next_pass_ns = due_ns < look_ns ? due_ns : look_ns;
    if (job->has_records && job->next_records_ns < job->next_pass_ns)
        job->next_pass_ns = job->next_records_ns;
}

void ft_pass_run(struct ft_job *job)
{
    // Larger than all that a resting job has else.
    struct ft_clock_view view;
    job->view = &view;
    run(job);
    job->view = NULL;
    ft_share_keep(job);
}
