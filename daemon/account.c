// SPDX-License-Identifier: MIT
#include "daemon/account.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/files.h"
#include "daemon/job.h"
#include "daemon/lines.h"
#include "daemon/resume.h"

// Arrays that a record points to.
struct lists {
    struct ft_bytes *argv;
    struct ft_tag *claims;
    struct ft_trace_dropped *dropped;
    struct ft_trace_in_call *in_call;
    struct ft_tag own_tags[FT_PROCESS_TAGS_MAX];
};

static void lists_fini(struct lists *lists)
{
    free(lists->argv);
    free(lists->claims);
    free(lists->dropped);
    free(lists->in_call);
}

// Strings of a NUL-separated text, FT_TRACE_LIST_MAX at most.
static size_t count_strings(struct ft_bytes text)
{
    size_t count = 0;
    for (size_t at = 0; at < text.len && count < FT_TRACE_LIST_MAX; count++)
        at += strnlen(text.data + at, text.len - at) + 1;
    return count;
}

struct ft_bytes *ft_account_make_argv(const struct ft_process *process, size_t *count)
{
    *count = count_strings(process->argv);
    struct ft_bytes *argv = calloc(*count ? *count : 1, sizeof(*argv));
    if (!argv)
        *count = 0;
    for (size_t at = 0, i = 0; i < *count; i++) {
        size_t bytes = strnlen(process->argv.data + at, process->argv.len - at);
        argv[i] = (struct ft_bytes){.data = process->argv.data + at, .len = bytes};
        at += bytes + 1;
    }
    return argv;
}

static void add_argv(const struct ft_process *process, struct ft_trace_process *record, struct lists *lists)
{
    lists->argv = ft_account_make_argv(process, &record->argv_count);
    record->argv = lists->argv;
    record->is_argv_cut = process->is_argv_cut;
}

static void add_claims(const struct ft_process *process, struct ft_trace_process *record, struct lists *lists)
{
    const struct ft_bytes text = process->environment;
    size_t count = count_strings(text), used = 0;
    lists->claims = calloc(count ? count : 1, sizeof(*lists->claims));
    if (!lists->claims)
        return;
    for (size_t at = 0, i = 0; i < count; i++) {
        size_t bytes = strnlen(text.data + at, text.len - at);
        const char *equals = memchr(text.data + at, '=', bytes);
        if (equals) {
            size_t key = (size_t)(equals - (text.data + at));
            lists->claims[used++] = (struct ft_tag){
                .key = {.data = text.data + at, .len = key},
                .value = {.data = equals + 1, .len = bytes - key - 1},
            };
        }
        at += bytes + 1;
    }
    record->claims = lists->claims;
    record->claims_count = used;
}

// A row of what a client counted; what no process can come to is cut, so that sums of rows stay what they say.
#define TOTAL_MAX (UINT64_C(1) << 54)

static uint64_t believable(uint64_t value)
{
    return value < TOTAL_MAX ? value : TOTAL_MAX;
}

static bool is_believable(const struct ft_process *process, const struct ft_total *row)
{
    const struct ft_segment_counts *counts = &process->segment.counts;
    return row->count && row->call < FT_TRACE_CALL_MAX && row->count <= counts->dropped + counts->limited;
}

// What the shim dropped, in ticks, and what the daemon dropped.
static void add_dropped(struct ft_drain *drain, const struct ft_process *process, struct ft_trace_process *record,
                        struct lists *lists)
{
    bool has_totals = process->segment.fd >= 0 && (process->segment.counts.dropped || process->segment.counts.limited);
    if (!has_totals && !process->lost_count) // most processes
        return;
    struct ft_total rows[FT_TOTALS_ROWS] = {0};
    if (has_totals)
        ft_segment_read_totals(&process->segment, rows);
    lists->dropped = calloc(FT_TOTALS_ROWS + process->lost_count, sizeof(*lists->dropped));
    if (!lists->dropped)
        return;
    double ns_per_tick = process->clock == FT_CLOCK_TICKS ? ft_clock_view_rate(drain->view) : 1;
    size_t used = 0;
    for (unsigned i = 0; i < FT_TOTALS_ROWS; i++)
        if (is_believable(process, &rows[i]))
            lists->dropped[used++] = (struct ft_trace_dropped){
                .call = (uint16_t)rows[i].call,
                .count = rows[i].count,
                .bytes = believable(rows[i].bytes),
                .time_ns = (uint64_t)((double)believable(rows[i].ticks) * ns_per_tick),
            };
    for (uint32_t i = 0; i < process->lost_count; i++)
        lists->dropped[used++] = (struct ft_trace_dropped){
            .call = process->lost[i].call,
            .count = process->lost[i].count,
            .bytes = process->lost[i].bytes,
            .time_ns = process->lost[i].time_ns,
        };
    record->dropped_calls = lists->dropped;
    record->dropped_calls_count = used;
}

static void add_in_call(struct ft_drain *drain, struct ft_process *process, struct ft_trace_process *record,
                        struct lists *lists)
{
    size_t used = 0;
    if (!process->segment.lines || !process->is_final || process->exit == FT_EXIT_EXEC)
        return;
    for (uint32_t i = 0; i < process->segment.counts.lines_used && used < FT_TRACE_LIST_MAX; i++) {
        const struct ft_line *line = &process->segment.lines[i];
        if (!line->call || line->call >= FT_TRACE_CALL_MAX)
            continue;
        if (!lists->in_call && !(lists->in_call = calloc(FT_TRACE_LIST_MAX, sizeof(*lists->in_call))))
            return;
        struct ft_name *name = ft_names_find(&process->names, line->file);
        lists->in_call[used++] = (struct ft_trace_in_call){
            .tid = line->tid,
            .call = (uint16_t)line->call,
            .file = name ? ft_files_id(drain, process, name) : 0,
            .since_ns = ft_process_ns(process, drain->view, line->call_start),
        };
    }
    record->in_call = lists->in_call;
    record->in_call_count = used;
}

// A pid's counters hold what its reaped children did, and run on over exec: of these that went into a record of its own
// is taken off, so that summing over records counts nothing twice. What is not known of a child stays in its parent's.
static void add_kernel(const struct ft_process *process, struct ft_trace_kernel *kernel)
{
    const struct ft_process_counters *first = &process->first_counters, *last = &process->counters;
    if (process->is_final && process->end_counters.is_known)
        last = &process->end_counters;
    else if (process->is_final && process->end_ns && process->has_traced_parent)
        return; // its parent's have it, and more than the last sample says
    bool is_first_known = first->is_known || (last == &process->end_counters && process->has_done_all);
    if (!last->is_known || !is_first_known)
        return;
    kernel->is_known = true;
#define X(name)                                                               \
    {                                                                         \
        uint64_t before = first->name + atomic_load(&process->children.name); \
        kernel->name = last->name > before ? last->name - before : 0;         \
    }
    FT_PROCESS_COUNTERS(X)
#undef X
}

static uint32_t parent_pid_of(const struct ft_process *process)
{
    return process->parent_pid ? process->parent_pid : process->parent_pid_guessed;
}

// The parent in this file (the image before, of an exec'ed one): by its segment where that is known, else by its pid.
static uint32_t find_parent(const struct ft_drain *drain, const struct ft_process *process)
{
    uint64_t segment = process->is_exec ? process->segment_before : process->parent_segment;
    uint32_t by_pid = 0;
    for (const struct ft_process *other = process->job->processes; other; other = other->next) {
        if (other == process || other->trace_part != drain->part || !other->trace_id)
            continue;
        if (segment && other->segment.id == segment)
            return other->trace_id;
        // Images are added at the list's head: the first of a pid is its newest.
        if (!by_pid && !process->is_exec && other->pid == parent_pid_of(process))
            by_pid = other->trace_id;
    }
    return by_pid;
}

static void fill_record(struct ft_drain *drain, struct ft_process *process, struct ft_trace_process *record,
                        struct lists *lists)
{
    const struct ft_identity *identity = &process->identity;
    // Rows in a block that is not in the file yet are in neither figure.
    uint64_t vfork_rows = process->vfork_rows;
    *record = (struct ft_trace_process){
        .pid = process->pid,
        .ns_pid = process->ns_pid,
        .parent_pid = parent_pid_of(process),
        .parent = process->parent_id,
        .is_exec = process->is_exec,
        .start_ns = process->start_ns,
        .end_ns = process->is_final && process->end_ns > 0 ? process->end_ns : 0,
        .uid = process->uid,
        .segment = process->segment.id,
        .exe = process->exe,
        .cwd = process->cwd,
        .tags = process->tags,
        .tags_count = process->tags_count,
        .job = ft_identity_record(identity),
        .exit = process->exit,
        .exit_source = process->exit_source,
        .exit_value = process->exit_value,
        .emitted = process->segment.counts.emitted - vfork_rows,
        .stored = process->stored - vfork_rows,
        .names_lost = process->names.lost + process->names_forgotten + process->segment.counts.names_lost,
        .bad_values = process->segment.counts.settings_ignored + process->tags_ignored,
    };
    memcpy(record->dropped, process->dropped, sizeof(record->dropped));
    record->dropped[FT_CAUSE_RING_FULL] += process->segment.counts.dropped;
    record->dropped[FT_CAUSE_DAEMON_LIMIT] += process->segment.counts.limited;
    add_argv(process, record, lists);
    add_claims(process, record, lists);
    add_dropped(drain, process, record, lists);
    add_in_call(drain, process, record, lists);
    add_kernel(process, &record->kernel);
    record->own_tags = lists->own_tags;
    record->own_tags_count = ft_lines_process_tags(process, lists->own_tags);
}

int ft_account_put(struct ft_drain *drain, struct ft_process *process)
{
    bool is_new = process->trace_part != drain->part;
    if (is_new)
        process->parent_id = find_parent(drain, process);
    struct ft_trace_process record;
    struct lists lists = {.argv = NULL};
    fill_record(drain, process, &record, &lists);
    int64_t r = is_new ? ft_trace_writer_new_process(drain->writer, &record)
                       : ft_trace_writer_put_process(drain->writer, process->trace_id, &record);
    lists_fini(&lists);
    if (r < 0)
        return (int)r;
    if (is_new) {
        process->trace_id = (uint32_t)r;
        process->trace_part = drain->part;
    }
    ft_resume_put(drain, process, is_new);
    return 0;
}
