// SPDX-License-Identifier: MIT
#include "daemon/missing.h"

#include "daemon/job.h"
#include "daemon/procfs.h"
#include "proto/trace_event.h"

// Takes one count of `gap` from the segment, where the shim counted more than was told so far.
static bool take_count(struct ft_process *process, enum ft_shim_gap gap)
{
    uint64_t count[FT_SHIM_GAP_COUNT], ring_calls;
    if (process->segment.fd < 0 || ft_segment_read_gaps(&process->segment, count, &ring_calls) < 0 ||
        count[gap] <= process->gap_stated[gap])
        return false;
    process->gap_stated[gap]++;
    return true;
}

void ft_missing_take_failure(struct ft_children_expected *one, struct ft_process *process)
{
    static const enum ft_shim_gap of_forked[] = {FT_SHIM_GAP_RLIMIT, FT_SHIM_GAP_FORK_UNATTACHED};
    static const enum ft_shim_gap of_others[] = {FT_SHIM_GAP_ENV_CLEANED};
    bool is_forked = one->way == FT_CHILDREN_FORKED;
    const enum ft_shim_gap *gaps = is_forked ? of_forked : of_others;
    for (unsigned i = 0; i < (is_forked ? 2u : 1u) && !one->has_failed_gap; i++) {
        one->has_failed_gap = take_count(process, gaps[i]);
        one->failed_gap = gaps[i];
    }
}

struct ft_process *ft_missing_find_parent(const struct ft_job *job, const struct ft_children_expected *one)
{
    struct ft_process *process = job->processes;
    while (process && process->segment.id != one->parent)
        process = process->next;
    return process;
}

#define VERDICT(kind, text) ((struct ft_exe_verdict){.gap = FT_GAP_##kind, .reason = (text)})

struct ft_exe_verdict ft_missing_by_follow(unsigned follow)
{
    switch (follow) {
    case FT_FOLLOW_CLEANED:
        return VERDICT(ENV_CLEANED, "executed with a cleaned environment");
    case FT_FOLLOW_OFF:
        return VERDICT(ENV_CLEANED, FT_GAP_REASON_OFF);
    case FT_FOLLOW_ELSEWHERE:
        return VERDICT(NOT_ATTACHED, "FLOWTAP_SOCKET of its environment names another daemon");
    case FT_FOLLOW_UNREACHABLE:
        return VERDICT(CONTAINER, "the library cannot be opened where it runs");
    case FT_FOLLOW_SANDBOX:
        return VERDICT(SANDBOX, "started under a seccomp filter");
    case FT_FOLLOW_NO_SOCKET:
        return VERDICT(NOT_ATTACHED, "the daemon's socket cannot be reached where it runs, or not by its user");
    case FT_FOLLOW_LIMIT:
        return VERDICT(RLIMIT, "limits of the process (descriptors, file size or address space) did not let it attach");
    default:
        return VERDICT(NOT_ATTACHED, "did not attach");
    }
}

static struct ft_exe_verdict verdict_of_failure(enum ft_shim_gap gap)
{
    switch (gap) {
    case FT_SHIM_GAP_RLIMIT:
        return ft_missing_by_follow(FT_FOLLOW_LIMIT);
    case FT_SHIM_GAP_ENV_CLEANED:
        return VERDICT(ENV_CLEANED, FT_GAP_REASON_NO_ROOM);
    default:
        return VERDICT(NOT_ATTACHED, "a forked child could not attach");
    }
}

struct ft_exe_verdict ft_missing_find_reason(const struct ft_job *job, struct ft_children_expected *one, bool is_alive)
{
    struct ft_exe_verdict by_follow = ft_missing_by_follow(one->follow);
    if (one->follow == FT_FOLLOW_UNREACHABLE)
        return by_follow;
    struct ft_exe_look look = {.uid = one->uid, .gid = one->gid, .root_pid = one->parent_pid};
    struct ft_exe_verdict by_file = VERDICT(NOT_ATTACHED, "did not attach");
    if (is_alive && !one->is_inside)
        by_file = ft_exe_examine_running(one->pid, &look);
    if (by_file.gap == FT_GAP_NOT_ATTACHED && one->way != FT_CHILDREN_FORKED)
        by_file = ft_exe_examine(one->path, &look);
    if (by_file.is_absent && one->at_first.is_certain)
        by_file = one->at_first;
    if (by_file.gap != FT_GAP_NOT_ATTACHED && by_file.gap != FT_GAP_CONTAINER)
        return by_file;
    struct ft_process *parent = one->has_failed_gap ? NULL : ft_missing_find_parent(job, one);
    if (parent && !one->has_failed_gap)
        ft_missing_take_failure(one, parent);
    if (one->has_failed_gap)
        return verdict_of_failure(one->failed_gap);
    return one->follow != FT_FOLLOW_ORDINARY ? by_follow : by_file;
}

bool ft_missing_is_alive(const struct ft_children_expected *one)
{
    struct ft_procfs_stat stat;
    if (one->is_inside) // its number there means nothing here: it may live
        return true;
    return ft_procfs_stat(one->pid, &stat) == 0 && stat.state != 'Z' && stat.state != 'X';
}
