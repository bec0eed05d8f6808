// SPDX-License-Identifier: MIT
#include "daemon/ending.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/account.h"
#include "daemon/children.h"
#include "daemon/counted.h"
#include "daemon/daemon.h"
#include "daemon/exe.h"
#include "daemon/log.h"
#include "daemon/missing.h"
#include "daemon/procfs.h"
#include "daemon/resume.h"
#include "daemon/vfork.h"
#include "proto/settings.h"

// Events that one thread can have begun and not published when it dies: one call, and handlers above it.
#define TORN_PER_LINE 8
// Attaching takes two beside the standard ones.
#define DESCRIPTORS_OF_COMMAND 5
// With less than that the smallest segment hardly fits beside a program.
#define ADDRESS_SPACE_LEAST ((uint64_t)16 << 20)

bool ft_ending_learn_exit(struct ft_process *process)
{
    if (process->exit != FT_EXIT_NONE)
        return true;
    if (atomic_load(&process->state) == FT_PROCESS_REPLACED) {
        process->exit = FT_EXIT_EXEC;
        process->exit_source = process->pidfd >= 0 ? FT_EXIT_SOURCE_PIDFD : FT_EXIT_SOURCE_UNKNOWN;
        return true;
    }
    struct ft_procfs_exit end = ft_procfs_exit_of(process->pidfd, process->pid, process->start_time, process->uid);
    if (!end.is_known && process->end_status >= 0)
        end = (struct ft_procfs_exit){.is_known = true, .status = process->end_status};
    if (!end.is_known)
        return false;
    process->exit_source = FT_EXIT_SOURCE_PIDFD;
    process->exit = WIFSIGNALED(end.status) ? FT_EXIT_SIGNAL : FT_EXIT_CODE;
    process->exit_value = WIFSIGNALED(end.status) ? WTERMSIG(end.status) : WEXITSTATUS(end.status);
    return true;
}

static uint64_t sum_dropped(const struct ft_process *process)
{
    uint64_t sum = 0;
    for (unsigned cause = 0; cause < FT_CAUSE_COUNT; cause++)
        sum += process->dropped[cause];
    return sum;
}

// The lines count less than what was read out of the ring, or more dropped than emitted: no shim does that. Nothing of
// what they say is believed then, and at least one event is not what it seems.
static void disbelieve_lines(struct ft_process *process)
{
    struct ft_segment_counts *counts = &process->segment.counts;
    ft_log_limited_about(FT_LOG_WARNING,
                         FT_LOG_ABOUT(.message = FT_LOG_CUT_OFF, .job = process->job->identity.job,
                                      FT_LOG_USER(process->uid), .pid = process->pid),
                         "process %u (user %u): its counts contradict what it wrote; they are not used", process->pid,
                         process->uid);
    process->is_corrupt = true;
    process->dropped[FT_CAUSE_CORRUPT]++;
    counts->dropped = counts->limited = 0;
    counts->emitted = process->stored + sum_dropped(process);
}

// What is left of `emitted` when all was read: the calls that died between return and publication.
static void account_for_rest(struct ft_process *process, bool is_alive)
{
    struct ft_segment_counts *counts = &process->segment.counts;
    uint64_t accounted = process->stored + counts->dropped + counts->limited + sum_dropped(process);
    if (accounted > counts->emitted && !is_alive)
        return disbelieve_lines(process);
    if (accounted > counts->emitted) // it went on after its lines were looked at, before its chunks were
        counts->emitted = accounted;
    if (accounted == counts->emitted)
        return;
    uint64_t rest = counts->emitted - accounted;
    uint64_t torn_max = (uint64_t)counts->lines_used * TORN_PER_LINE;
    // What the daemon before us could neither write nor write down had no room on the disk.
    bool is_too_much = rest > torn_max && !is_alive;
    uint64_t torn = process->is_cut_off || (is_too_much && process->is_taken_over) ? 0 : is_too_much ? torn_max : rest;
    enum ft_cause cause = process->is_taken_over ? FT_CAUSE_DISK_FULL : FT_CAUSE_CORRUPT;
    if (process->is_cut_off)
        cause = process->is_corrupt ? FT_CAUSE_CORRUPT : FT_CAUSE_DAEMON_LIMIT;
    process->dropped[FT_CAUSE_TORN] += torn;
    process->dropped[cause] += rest - torn;
}

// Into the daemon's own counters, once, when all is known.
static void count_dropped(struct ft_status *status, const struct ft_process *process)
{
    ft_status_add(status, dropped_ring_full, process->segment.counts.dropped);
    ft_status_add(status, dropped_daemon_limit,
                  process->segment.counts.limited + process->dropped[FT_CAUSE_DAEMON_LIMIT]);
    ft_status_add(status, dropped_torn, process->dropped[FT_CAUSE_TORN]);
    ft_status_add(status, dropped_disk_full, process->dropped[FT_CAUSE_DISK_FULL]);
    ft_status_add(status, dropped_capped, process->dropped[FT_CAUSE_CAPPED]);
    ft_status_add(status, dropped_corrupt, process->dropped[FT_CAUSE_CORRUPT]);
}

// The command has our limits: whether they are why it did not attach.
static bool do_limits_forbid(void)
{
    struct rlimit files, size, space;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || getrlimit(RLIMIT_FSIZE, &size) < 0 || getrlimit(RLIMIT_AS, &space) < 0)
        return false;
    bool is_small = space.rlim_cur < FT_ADDRESS_SPACE_SMALL;
    uint64_t bytes = is_small ? FT_SEGMENT_BYTES_SMALL : FT_SEGMENT_BYTES_WHOLE;
    return files.rlim_max < DESCRIPTORS_OF_COMMAND || size.rlim_max < bytes || space.rlim_cur < ADDRESS_SPACE_LEAST;
}

// The command has our environment, but for what `flowtap run` puts there itself.
static bool is_mode_off(void)
{
    const char *mode = getenv("FLOWTAP_MODE");
    return mode && ft_setting_use_of_mode(mode) == FT_SETTING_OFF;
}

void ft_ending_put_command(struct ft_drain *drain, const char *command, bool is_empty)
{
    const struct ft_exe_look look = {.uid = geteuid(), .gid = getegid()};
    struct ft_exe_verdict verdict = {.gap = FT_GAP_NOT_ATTACHED, .reason = "no process of the command attached"};
    struct ft_exe_verdict by_file = *command ? ft_exe_examine(command, &look) : verdict;
    if (do_limits_forbid())
        verdict = ft_missing_by_follow(FT_FOLLOW_LIMIT);
    if (by_file.gap != FT_GAP_NOT_ATTACHED)
        verdict = by_file;
    if (is_empty && is_mode_off())
        verdict = ft_missing_by_follow(FT_FOLLOW_OFF);
    // A static program runs unseen also where its children are seen.
    if (!drain->writer || (!is_empty && verdict.gap != FT_GAP_STATIC && verdict.gap != FT_GAP_FOREIGN_ELF))
        return;
    struct ft_trace_gap gap = {.kind = (uint8_t)verdict.gap,
                               .count = 1,
                               .when_ns = drain->now_ns,
                               .exe = FT_BYTES(command),
                               .reason = FT_BYTES(verdict.reason)};
    ft_trace_writer_put_gap(drain->writer, &gap);
}

static void put_losses(struct ft_drain *drain, const struct ft_process *process)
{
    for (unsigned cause = 0; cause < FT_CAUSE_COUNT; cause++) {
        struct ft_trace_loss loss = {.cause = (uint8_t)cause,
                                     .process = process->trace_id,
                                     .count = process->dropped[cause],
                                     .when_ns = drain->now_ns};
        if (process->dropped[cause])
            ft_trace_writer_put_loss(drain->writer, &loss);
    }
}

static const char *why_not_seen(const struct ft_process *process, enum ft_gap gap)
{
    if (process->is_lost && process->is_corrupt)
        return "the daemon was killed, and what it had of the process is no segment any more";
    if (process->is_lost)
        return "the daemon was killed, and nobody held what the process recorded after the last block";
    return gap == FT_GAP_STILL_RUNNING ? "lived on when the command had ended" : "lived on when the daemon ended";
}

// As it stands: a daemon that comes after us may go on with it, from before the rest was accounted for.
static void put_as_it_stands(struct ft_drain *drain, struct ft_process *process)
{
    uint64_t dropped[FT_CAUSE_COUNT], emitted = process->segment.counts.emitted;
    memcpy(dropped, process->dropped, sizeof(dropped));
    ft_children_note_over(drain, process);
    ft_counted_put(drain, process, true);
    account_for_rest(process, true);
    count_dropped(&process->job->daemon->status, process);
    ft_account_put(drain, process);
    put_losses(drain, process);
    memcpy(process->dropped, dropped, sizeof(dropped));
    process->segment.counts.emitted = emitted;
    ft_resume_put(drain, process, false);
}

void ft_ending_finish(struct ft_drain *drain, struct ft_process *process, int64_t end_ns, enum ft_gap gap)
{
    process->is_final = true;
    process->is_left = !end_ns && !process->is_lost;
    // Of a process that had ended before it was admitted the last event is the best that is known.
    process->end_ns = process->was_dead && process->last_event_ns ? process->last_event_ns : end_ns;
    // A coarse clock, or a claim, may be before the start.
    if (process->end_ns && process->end_ns < process->start_ns)
        process->end_ns = process->start_ns;
    if (end_ns)
        ft_ending_learn_exit(process);
    ft_vfork_finish(drain, process);
    bool may_go_on = !end_ns && !process->is_lost && drain->writer;
    if (may_go_on) {
        put_as_it_stands(drain, process);
    } else {
        account_for_rest(process, !end_ns);
        count_dropped(&process->job->daemon->status, process);
    }
    if (!drain->writer)
        return;
    if (!may_go_on) {
        ft_account_put(drain, process);
        ft_children_note_over(drain, process);
        ft_counted_put(drain, process, true);
        put_losses(drain, process);
    }
    if (!end_ns)
        ft_counted_put_gap(drain, process, gap, 1, why_not_seen(process, gap));
}
