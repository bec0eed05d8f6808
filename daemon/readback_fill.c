// SPDX-License-Identifier: MIT
//
// A process from its records. What it claimed of itself comes from there too: its segment may say something else by now.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/readback.h"

// The strings of a record, one behind the other.
struct strings {
    char *at;
};

static size_t bytes_of(const struct ft_trace_process *record)
{
    size_t bytes = record->exe.len + record->cwd.len + record->job.workflow.len + 3;
    for (size_t i = 0; i < record->argv_count; i++)
        bytes += record->argv[i].len + 1;
    for (size_t i = 0; i < record->claims_count; i++)
        bytes += record->claims[i].key.len + record->claims[i].value.len + 2;
    for (size_t i = 0; i < record->tags_count; i++)
        bytes += record->tags[i].key.len + record->tags[i].value.len + 2;
    return bytes;
}

// A copy, with `end` behind it, which is not counted.
static struct ft_bytes add(struct strings *strings, struct ft_bytes text, char end)
{
    struct ft_bytes copy = {.data = strings->at, .len = text.len};
    if (text.len)
        memcpy(strings->at, text.data, text.len);
    strings->at[text.len] = end;
    strings->at += text.len + 1;
    return copy;
}

static int fill_strings(const struct ft_trace_process *record, struct ft_process *process)
{
    struct strings strings = {.at = malloc(bytes_of(record))};
    if (!strings.at)
        return -ENOMEM;
    free(process->hello_bytes);
    process->hello_bytes = (uint8_t *)strings.at;
    process->exe = add(&strings, record->exe, '\0');
    process->cwd = add(&strings, record->cwd, '\0');
    process->identity.workflow = add(&strings, record->job.workflow, '\0');
    process->argv.data = strings.at;
    for (size_t i = 0; i < record->argv_count; i++)
        add(&strings, record->argv[i], '\0');
    process->argv.len = (size_t)(strings.at - process->argv.data);
    process->environment.data = strings.at;
    for (size_t i = 0; i < record->claims_count; i++) {
        add(&strings, record->claims[i].key, '=');
        add(&strings, record->claims[i].value, '\0');
    }
    process->environment.len = (size_t)(strings.at - process->environment.data);
    process->cgroup = (struct ft_bytes){.data = "", .len = 0};
    process->tags_count = 0;
    for (size_t i = 0; i < record->tags_count && i < FT_PROCESS_TAGS_MAX; i++) {
        struct ft_tag *tag = &process->tags[process->tags_count++];
        tag->key = add(&strings, record->tags[i].key, '\0');
        tag->value = add(&strings, record->tags[i].value, '\0');
    }
    ft_names_set_cwd(&process->names, process->cwd.data, process->cwd.len);
    return 0;
}

static void fill_identity(const struct ft_trace_process *record, struct ft_process *process)
{
    struct ft_identity *identity = &process->identity;
    snprintf(identity->job, sizeof(identity->job), "%.*s", (int)record->job.id.len, record->job.id.data);
    snprintf(identity->step, sizeof(identity->step), "%.*s", (int)record->job.step.len, record->job.step.data);
    identity->source = record->job.source;
    identity->step_source = record->job.step_source;
    identity->rank_source = record->job.rank_source;
    identity->local_rank_source = record->job.local_rank_source;
    identity->rank = record->job.rank;
    identity->local_rank = record->job.local_rank;
    process->pid = record->pid;
    process->ns_pid = record->ns_pid;
    process->parent_pid = record->parent_pid;
    process->uid = record->uid;
    process->start_ns = record->start_ns;
    process->is_exec = record->is_exec;
    process->is_argv_cut = record->is_argv_cut;
    process->segment.id = record->segment;
}

static struct ft_process_counters counters_of(const struct ft_trace_kernel *kernel)
{
    struct ft_process_counters counters = {.is_known = kernel->is_known};
#define X(name) counters.name = kernel->name;
    FT_PROCESS_COUNTERS(X)
#undef X
    return counters;
}

// What its pid's counters were when the record was written: what the record holds is the difference to `first`.
static void fill_counters(const struct ft_trace_process *record, const struct ft_trace_resume *resume,
                          struct ft_process *process)
{
    process->first_counters = counters_of(&resume->first);
    process->counters = counters_of(&record->kernel);
#define X(name)                                                   \
    atomic_store(&process->children.name, resume->children.name); \
    process->counters.name += resume->first.name + resume->children.name;
    FT_PROCESS_COUNTERS(X)
#undef X
}

static void add_lost(struct ft_process *process, const struct ft_trace_dropped *dropped, size_t count)
{
    process->lost = calloc(count ? count : 1, sizeof(*process->lost));
    for (size_t i = 0; process->lost && i < count; i++)
        process->lost[process->lost_count++] = (struct ft_process_lost){.call = dropped[i].call,
                                                                        .count = dropped[i].count,
                                                                        .bytes = dropped[i].bytes,
                                                                        .time_ns = dropped[i].time_ns};
}

static void fill_resume(const struct ft_readback *readback, uint32_t id, struct ft_process *process)
{
    const struct ft_trace_resume *resume = readback->resumes[id];
    process->start_time = resume->start_time;
    process->clock = resume->clock == FT_CLOCK_MONOTONIC_NS ? FT_CLOCK_MONOTONIC_NS : FT_CLOCK_TICKS;
    process->image = resume->image;
    process->parent_segment = resume->parent_segment;
    process->segment_before = resume->segment_before;
    process->stored = resume->stored + readback->rows_after[id];
    process->vfork_rows = resume->vfork_rows;
    memcpy(process->dropped, resume->dropped, sizeof(process->dropped));
    process->dropped[FT_CAUSE_CAPPED] += readback->capped_after[id];
    for (size_t i = 0; i < FT_SHIM_GAP_COUNT; i++)
        process->gap_stated[i] = resume->gaps[i];
    process->names.lost += resume->names_lost;
    process->last_event_ns = resume->last_event_ns;
}

// Its vfork children that a daemon before us was not done with.
static int fill_vforks(const struct ft_readback *readback, uint32_t id, struct ft_process *process)
{
    for (uint32_t i = 0; i < readback->vfork_count; i++) {
        uint32_t child = readback->vforks[i];
        const struct ft_trace_process *record = ft_trace_reader_process(readback->reader, child);
        if (ft_readback_owner(readback, child) != id)
            continue;
        process->stored += readback->rows_after[child];
        process->vfork_rows += readback->rows_after[child];
        bool is_done = record->end_ns && record->stored <= readback->rows[child];
        if (is_done)
            continue;
        struct ft_process_vfork *list =
            realloc(process->vforks_before, (process->vforks_before_count + 1) * sizeof(*list));
        if (!list)
            return -ENOMEM;
        process->vforks_before = list;
        list[process->vforks_before_count++] =
            (struct ft_process_vfork){.pid = record->pid,
                                      .start_ns = record->start_ns,
                                      .rows = readback->rows[child] + (record->end_ns ? 0 : record->stored)};
    }
    return 0;
}

// What the lines said when the record was written.
static void fill_counts(const struct ft_trace_process *record, struct ft_process *process)
{
    struct ft_segment_counts *counts = &process->segment.counts;
    uint64_t own = process->dropped[FT_CAUSE_DAEMON_LIMIT], all = record->dropped[FT_CAUSE_DAEMON_LIMIT];
    counts->dropped = record->dropped[FT_CAUSE_RING_FULL];
    counts->limited = all > own ? all - own : 0;
    uint64_t found = process->stored + counts->dropped + counts->limited;
    for (unsigned cause = 0; cause < FT_CAUSE_COUNT; cause++)
        found += process->dropped[cause];
    counts->emitted = record->emitted + process->vfork_rows;
    if (counts->emitted < found)
        counts->emitted = found; // blocks are newer than the record
}

int ft_readback_fill(struct ft_readback *readback, uint32_t id, struct ft_process *process)
{
    const struct ft_trace_process *record = ft_trace_reader_process(readback->reader, id);
    static const struct ft_trace_resume none;
    const struct ft_trace_resume *resume = readback->resumes[id] ? readback->resumes[id] : &none;
    int r = record ? fill_strings(record, process) : -EBADMSG;
    if (r < 0)
        return r;
    fill_identity(record, process);
    fill_counters(record, resume, process);
    if (readback->resumes[id]) {
        fill_resume(readback, id, process);
    } else {
        process->clock = FT_CLOCK_TICKS;
        process->stored = readback->rows[id];
        memcpy(process->dropped, record->dropped, sizeof(process->dropped));
        process->dropped[FT_CAUSE_RING_FULL] = 0;
    }
    r = fill_vforks(readback, id, process);
    if (r < 0)
        return r;
    fill_counts(record, process);
    bool has_segment = process->segment.fd >= 0;
    add_lost(process, has_segment ? resume->dropped_calls : record->dropped_calls,
             has_segment ? resume->dropped_calls_count : record->dropped_calls_count);
    process->is_taken_over = true;
    readback->processes[id] = process;
    return 0;
}
