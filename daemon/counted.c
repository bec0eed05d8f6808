// SPDX-License-Identifier: MIT
#include "daemon/counted.h"

#include <stdio.h>
#include <string.h>

#include "daemon/resume.h"

// More of one process are told by their number alone, at its end.
#define NAMED_MAX 256

void ft_counted_put_gap(struct ft_drain *drain, const struct ft_process *process, enum ft_gap kind, uint64_t count,
                        const char *reason)
{
    struct ft_trace_gap gap = {
        .kind = (uint8_t)kind,
        .pid = process->pid,
        .process = process->trace_part == drain->part ? process->trace_id : 0,
        .count = count,
        .when_ns = drain->now_ns,
        .exe = process->exe,
        .reason = FT_BYTES(reason),
    };
    ft_trace_writer_put_gap(drain->writer, &gap);
}

// `is_told_late`: who is meant may still be known from a record, so the count alone is told at the end.
static const struct {
    enum ft_gap kind;
    bool is_told_late;
    const char *reason;
} kinds[FT_SHIM_GAP_COUNT] = {
    [FT_SHIM_GAP_SANDBOX] =
        {FT_GAP_SANDBOX, false,
         "under a seccomp filter (or its like) no call of ours is made: children and images of it are not seen"},
    [FT_SHIM_GAP_RAW_SYSCALL] = {FT_GAP_RAW_SYSCALL, false, "calls made by syscall() are not seen"},
    [FT_SHIM_GAP_DEEPBIND] = {FT_GAP_DEEPBIND, true, "an object was loaded whose calls bind past us"},
    [FT_SHIM_GAP_CLONE_SHARED] = {FT_GAP_CLONE_SHARED, false,
                                  "clone with CLONE_VM and without a thread's memory of its own"},
    [FT_SHIM_GAP_ENV_CLEANED] = {FT_GAP_ENV_CLEANED, true, "executed with a cleaned environment"},
    [FT_SHIM_GAP_RLIMIT] = {FT_GAP_RLIMIT, true, "a limit of the process did not let a forked child attach"},
    [FT_SHIM_GAP_FORK_UNATTACHED] = {FT_GAP_NOT_ATTACHED, true, "a forked child could not attach"},
};

static void put_rings(struct ft_drain *drain, struct ft_process *process, uint64_t count, uint64_t by_shim,
                      bool is_last)
{
    uint64_t told = process->gap_stated[FT_SHIM_GAP_IO_URING], calls;
    bool has_rings = ft_rings_calls(process, &calls) || count;
    if (by_shim > calls)
        calls = by_shim;
    if (calls > told)
        ft_counted_put_gap(drain, process, FT_GAP_IO_URING, calls - told, "ring used, its calls are not seen");
    else if (has_rings && !told && is_last)
        ft_counted_put_gap(drain, process, FT_GAP_IO_URING, 1,
                           "ring used, how many calls went through it is not known");
    process->gap_stated[FT_SHIM_GAP_IO_URING] = calls > told ? calls : told;
}

// What was told is written down beside it: a daemon that follows tells the rest.
static void note_told(struct ft_drain *drain, struct ft_process *process)
{
    if (process->trace_part == drain->part)
        ft_resume_put(drain, process, false);
}

static const char *reason_of(const struct ft_process *process, unsigned gap)
{
    if (gap == FT_SHIM_GAP_SANDBOX && ft_segment_is_dispatched(&process->segment))
        return "system calls of a thread are dispatched to the program: what it opens has no names of the kernel's";
    return kinds[gap].reason;
}

void ft_counted_put(struct ft_drain *drain, struct ft_process *process, bool is_last)
{
    uint64_t count[FT_SHIM_GAP_COUNT], ring_calls;
    if (process->segment.fd < 0 || ft_segment_read_gaps(&process->segment, count, &ring_calls) < 0)
        return;
    uint64_t told[FT_SHIM_GAP_COUNT];
    memcpy(told, process->gap_stated, sizeof(told));
    put_rings(drain, process, count[FT_SHIM_GAP_IO_URING], ring_calls, is_last);
    for (unsigned i = 0; i < FT_SHIM_GAP_COUNT; i++) {
        if (!kinds[i].reason || count[i] <= process->gap_stated[i] || (kinds[i].is_told_late && !is_last))
            continue;
        ft_counted_put_gap(drain, process, kinds[i].kind, count[i] - process->gap_stated[i], reason_of(process, i));
        process->gap_stated[i] = count[i];
    }
    if (memcmp(told, process->gap_stated, sizeof(told)) != 0)
        note_told(drain, process);
}

void ft_counted_put_named(struct ft_drain *drain, struct ft_process *process, unsigned gap, uint32_t count,
                          const struct ft_name *name)
{
    char reason[FT_PATH_KEPT_BYTES + 64];
    uint64_t counted[FT_SHIM_GAP_COUNT], ring_calls;
    if (!drain->writer || !name || gap >= FT_SHIM_GAP_COUNT || !kinds[gap].reason || !count ||
        process->named_gaps++ >= NAMED_MAX)
        return;
    // The shim counts before it tells: what is more than that was told by a daemon before us, whose block was torn off.
    uint64_t told = process->gap_stated[gap], left = UINT64_MAX;
    if (ft_segment_read_gaps(&process->segment, counted, &ring_calls) == 0)
        left = counted[gap] > told ? counted[gap] - told : 0;
    count = count < left ? count : (uint32_t)left;
    if (!count)
        return;
    snprintf(reason, sizeof(reason), "%.*s: its calls bind past us (RTLD_DEEPBIND, dlmopen)", (int)name->bytes_got,
             name->text);
    ft_counted_put_gap(drain, process, kinds[gap].kind, count, reason);
    process->gap_stated[gap] += count;
    note_told(drain, process);
}
