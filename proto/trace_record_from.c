// SPDX-License-Identifier: MIT
#include "proto/trace_reader_impl.h"

#include <errno.h>
#include <string.h>

int ft_record_bytes(struct ft_arena *arena, ProtobufCBinaryData from, struct ft_bytes *out)
{
    char *copy;

    if (from.len == 0) {
        *out = (struct ft_bytes){.data = "", .len = 0};
        return 0;
    }
    copy = ft_arena_alloc(arena, from.len + 1);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, from.data, from.len);
    copy[from.len] = '\0';
    *out = (struct ft_bytes){.data = copy, .len = from.len};
    return 0;
}

int ft_record_tags(struct ft_arena *arena, Flowtap__Tag *const *from, size_t count, const struct ft_tag **out)
{
    struct ft_tag *tags = ft_arena_alloc(arena, count * sizeof(*tags));

    if (!tags)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (ft_record_bytes(arena, from[i]->key, &tags[i].key) ||
            ft_record_bytes(arena, from[i]->value, &tags[i].value))
            return -ENOMEM;
    *out = tags;
    return 0;
}

static int32_t rank_of(uint32_t plus_one)
{
    return plus_one <= INT32_MAX ? (int32_t)plus_one - 1 : -1;
}

static uint8_t job_source_of(uint32_t source)
{
    return source < FT_JOB_SOURCE_COUNT ? (uint8_t)source : FT_JOB_SOURCE_UNKNOWN;
}

static int record_job(struct ft_arena *arena, const Flowtap__Job *from, struct ft_trace_job *out)
{
    static const Flowtap__Job none = FLOWTAP__JOB__INIT;

    if (!from)
        from = &none;
    out->source = job_source_of(from->source);
    out->step_source = job_source_of(from->step_source);
    out->rank_source = job_source_of(from->rank_source);
    out->local_rank_source = job_source_of(from->local_rank_source);
    out->rank = rank_of(from->rank_plus_one);
    out->local_rank = rank_of(from->local_rank_plus_one);
    if (ft_record_bytes(arena, from->id, &out->id) || ft_record_bytes(arena, from->workflow, &out->workflow))
        return -ENOMEM;
    return ft_record_bytes(arena, from->step, &out->step);
}

int ft_record_header(struct ft_arena *arena, const Flowtap__Header *from, struct ft_trace_header *out)
{
    struct ft_trace_header header = {
        .major = from->major,
        .minor = from->minor,
        .uid = from->uid,
        .realtime_offset_ns = ft_offset_or_zero(from->realtime_offset_ns),
        .clock_error_ns = from->clock_error_ns,
        .created_ns = ft_offset_or_zero(from->created_ns),
        .part = from->part,
    };

    if (ft_record_bytes(arena, from->writer, &header.writer) || ft_record_bytes(arena, from->host, &header.host) ||
        ft_record_bytes(arena, from->boot_id, &header.boot_id) || ft_record_bytes(arena, from->user, &header.user) ||
        record_job(arena, from->job, &header.job))
        return -ENOMEM;
    *out = header;
    return 0;
}

static size_t rounded(size_t bytes)
{
    return (bytes + FT_ARENA_ALIGN - 1) / FT_ARENA_ALIGN * FT_ARENA_ALIGN;
}

static size_t bytes_of_tags(Flowtap__Tag *const *tags, size_t count)
{
    size_t bytes = rounded(count * sizeof(struct ft_tag));

    for (size_t i = 0; i < count; i++)
        bytes += rounded(tags[i]->key.len + 1) + rounded(tags[i]->value.len + 1);
    return bytes;
}

// What ft_record_process() allocates, or a little more.
static size_t bytes_of_process(const Flowtap__Process *from)
{
    size_t bytes = rounded(from->exe.len + 1) + rounded(from->cwd.len + 1) + rounded(from->user.len + 1) +
                   rounded(from->n_argv * sizeof(struct ft_bytes)) + bytes_of_tags(from->claims, from->n_claims) +
                   bytes_of_tags(from->tags, from->n_tags) + bytes_of_tags(from->own_tags, from->n_own_tags) +
                   rounded(from->n_in_call * sizeof(struct ft_trace_in_call)) +
                   rounded(from->n_dropped_calls * sizeof(struct ft_trace_dropped));

    for (size_t i = 0; i < from->n_argv; i++)
        bytes += rounded(from->argv[i].len + 1);
    if (from->job)
        bytes +=
            rounded(from->job->id.len + 1) + rounded(from->job->workflow.len + 1) + rounded(from->job->step.len + 1);
    return bytes;
}

static int record_argv(struct ft_arena *arena, const Flowtap__Process *from, struct ft_trace_process *out)
{
    struct ft_bytes *argv = ft_arena_alloc(arena, from->n_argv * sizeof(*argv));

    if (!argv)
        return -ENOMEM;
    for (size_t i = 0; i < from->n_argv; i++)
        if (ft_record_bytes(arena, from->argv[i], &argv[i]))
            return -ENOMEM;
    out->argv = argv;
    out->argv_count = from->n_argv;
    return 0;
}

static int record_in_call(struct ft_arena *arena, const Flowtap__Process *from, struct ft_trace_process *out)
{
    struct ft_trace_in_call *in_call = ft_arena_alloc(arena, from->n_in_call * sizeof(*in_call));

    if (!in_call)
        return -ENOMEM;
    for (size_t i = 0; i < from->n_in_call; i++) {
        if (from->in_call[i]->call >= FT_TRACE_CALL_MAX)
            return -EBADMSG;
        in_call[i] = (struct ft_trace_in_call){
            .tid = from->in_call[i]->tid,
            .call = (uint16_t)from->in_call[i]->call,
            .file = from->in_call[i]->file,
            .since_ns = ft_time_or_zero(from->in_call[i]->since_ns),
        };
    }
    out->in_call = in_call;
    out->in_call_count = from->n_in_call;
    return 0;
}

int ft_record_dropped(struct ft_arena *arena, Flowtap__Dropped *const *from, size_t count,
                      const struct ft_trace_dropped **out)
{
    struct ft_trace_dropped *dropped = ft_arena_alloc(arena, count * sizeof(*dropped));

    if (!dropped)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        if (from[i]->call >= FT_TRACE_CALL_MAX)
            return -EBADMSG;
        dropped[i] = (struct ft_trace_dropped){
            .call = (uint16_t)from[i]->call,
            .count = from[i]->count,
            .bytes = from[i]->bytes,
            .time_ns = from[i]->time_ns,
        };
    }
    *out = dropped;
    return 0;
}

void ft_record_causes(const uint64_t *from, size_t count, uint64_t out[FT_CAUSE_COUNT])
{
    for (size_t i = 0; i < count; i++)
        out[i < FT_CAUSE_COUNT ? i : FT_CAUSE_DAEMON_LIMIT] += from[i];
}

void ft_record_kernel(const Flowtap__Kernel *from, struct ft_trace_kernel *out)
{
    if (!from)
        return;
    *out = (struct ft_trace_kernel){
        .is_known = true,
        .rchar = from->rchar,
        .wchar = from->wchar,
        .read_bytes = from->read_bytes,
        .write_bytes = from->write_bytes,
        .syscr = from->syscr,
        .syscw = from->syscw,
        .major_faults = from->major_faults,
    };
}

int ft_record_process(struct ft_arena *arena, const Flowtap__Process *from, struct ft_trace_process *out)
{
    struct ft_trace_process process = {
        .pid = from->pid,
        .ns_pid = from->ns_pid,
        .parent_pid = from->parent_pid,
        .parent = from->parent,
        .is_exec = from->is_exec,
        .start_ns = ft_time_or_zero(from->start_ns),
        .end_ns = ft_time_or_zero(from->end_ns),
        .uid = from->uid,
        .segment = from->segment,
        .is_argv_cut = from->is_argv_cut,
        .claims_count = from->n_claims,
        .tags_count = from->n_tags,
        .own_tags_count = from->n_own_tags,
        .dropped_calls_count = from->n_dropped_calls,
        .exit = from->exit < FT_EXIT_COUNT ? (uint8_t)from->exit : FT_EXIT_NONE,
        .exit_source = from->exit_source < FT_EXIT_SOURCE_COUNT ? (uint8_t)from->exit_source : FT_EXIT_SOURCE_UNKNOWN,
        .exit_value = from->exit_value,
        .emitted = from->emitted,
        .stored = from->stored,
        .names_lost = from->names_lost,
        .bad_values = from->bad_values,
    };
    int rc = ft_arena_reserve(arena, bytes_of_process(from));

    if (rc)
        return rc;
    if (ft_record_bytes(arena, from->exe, &process.exe) || ft_record_bytes(arena, from->cwd, &process.cwd) ||
        ft_record_bytes(arena, from->user, &process.user) || record_job(arena, from->job, &process.job) ||
        record_argv(arena, from, &process) || ft_record_tags(arena, from->claims, from->n_claims, &process.claims) ||
        ft_record_tags(arena, from->tags, from->n_tags, &process.tags) ||
        ft_record_tags(arena, from->own_tags, from->n_own_tags, &process.own_tags))
        return -ENOMEM;
    rc = record_in_call(arena, from, &process);
    if (rc == 0)
        rc = ft_record_dropped(arena, from->dropped_calls, from->n_dropped_calls, &process.dropped_calls);
    ft_record_causes(from->dropped, from->n_dropped, process.dropped);
    ft_record_kernel(from->kernel, &process.kernel);
    if (rc == 0)
        *out = process;
    return rc;
}
