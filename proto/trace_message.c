// SPDX-License-Identifier: MIT
#include "proto/trace_message.h"

#include "proto/trace_writer.h"

#include <errno.h>

static int put_bytes(struct ft_bytes from, ProtobufCBinaryData *out)
{
    if (from.len > FT_TRACE_STRING_MAX)
        return -EINVAL;
    *out = (ProtobufCBinaryData){.len = from.len, .data = (uint8_t *)from.data};
    return 0;
}

static int put_job(struct ft_arena *arena, const struct ft_trace_job *job, Flowtap__Job **out)
{
    Flowtap__Job *message = ft_arena_alloc(arena, sizeof(*message));

    if (!message)
        return -ENOMEM;
    flowtap__job__init(message);
    if (put_bytes(job->id, &message->id) || put_bytes(job->workflow, &message->workflow) ||
        put_bytes(job->step, &message->step))
        return -EINVAL;
    message->source = job->source;
    message->step_source = job->step_source;
    message->rank_source = job->rank_source;
    message->local_rank_source = job->local_rank_source;
    message->rank_plus_one = job->rank >= 0 ? (uint32_t)job->rank + 1 : 0;
    message->local_rank_plus_one = job->local_rank >= 0 ? (uint32_t)job->local_rank + 1 : 0;
    *out = message;
    return 0;
}

// A list of `count` pointers to messages of `size` bytes, all of them zeroed.
static int make_list(struct ft_arena *arena, size_t count, size_t size, void ***list)
{
    void **pointers;
    char *messages;

    if (count > FT_TRACE_LIST_MAX)
        return -EINVAL;
    pointers = ft_arena_zalloc(arena, count, sizeof(*pointers));
    messages = ft_arena_zalloc(arena, count, size);
    if (!pointers || !messages)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        pointers[i] = messages + i * size;
    *list = pointers;
    return 0;
}

static int put_tags(struct ft_arena *arena, const struct ft_tag *tags, size_t count, size_t *n, Flowtap__Tag ***out)
{
    void **list;
    int rc = make_list(arena, count, sizeof(Flowtap__Tag), &list);

    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++) {
        Flowtap__Tag *tag = list[i];

        flowtap__tag__init(tag);
        if (put_bytes(tags[i].key, &tag->key) || put_bytes(tags[i].value, &tag->value))
            return -EINVAL;
    }
    *n = count;
    *out = (Flowtap__Tag **)list;
    return 0;
}

static int put_argv(struct ft_arena *arena, const struct ft_trace_process *process, Flowtap__Process *out)
{
    if (process->argv_count > FT_TRACE_LIST_MAX)
        return -EINVAL;
    out->argv = ft_arena_zalloc(arena, process->argv_count, sizeof(*out->argv));
    if (!out->argv)
        return -ENOMEM;
    for (size_t i = 0; i < process->argv_count; i++)
        if (put_bytes(process->argv[i], &out->argv[i]))
            return -EINVAL;
    out->n_argv = process->argv_count;
    return 0;
}

int ft_message_from_kernel(struct ft_arena *arena, const struct ft_trace_kernel *kernel, Flowtap__Kernel **out)
{
    if (!kernel->is_known)
        return 0;
    *out = ft_arena_alloc(arena, sizeof(**out));
    if (!*out)
        return -ENOMEM;
    flowtap__kernel__init(*out);
    (*out)->rchar = kernel->rchar;
    (*out)->wchar = kernel->wchar;
    (*out)->read_bytes = kernel->read_bytes;
    (*out)->write_bytes = kernel->write_bytes;
    (*out)->syscr = kernel->syscr;
    (*out)->syscw = kernel->syscw;
    (*out)->major_faults = kernel->major_faults;
    return 0;
}

static int put_in_call(struct ft_arena *arena, const struct ft_trace_process *process, Flowtap__Process *out)
{
    void **list;
    int rc = make_list(arena, process->in_call_count, sizeof(Flowtap__InCall), &list);

    if (rc)
        return rc;
    for (size_t i = 0; i < process->in_call_count; i++) {
        Flowtap__InCall *message = list[i];

        flowtap__in_call__init(message);
        message->tid = process->in_call[i].tid;
        message->call = process->in_call[i].call;
        message->file = process->in_call[i].file;
        message->since_ns = process->in_call[i].since_ns;
    }
    out->n_in_call = process->in_call_count;
    out->in_call = (Flowtap__InCall **)list;
    return 0;
}

int ft_message_from_dropped(struct ft_arena *arena, const struct ft_trace_dropped *dropped, size_t count, size_t *n,
                            Flowtap__Dropped ***out)
{
    void **list;
    int rc = make_list(arena, count, sizeof(Flowtap__Dropped), &list);

    if (rc)
        return rc;
    for (size_t i = 0; i < count; i++) {
        Flowtap__Dropped *message = list[i];

        flowtap__dropped__init(message);
        message->call = dropped[i].call;
        message->count = dropped[i].count;
        message->bytes = dropped[i].bytes;
        message->time_ns = dropped[i].time_ns;
    }
    *n = count;
    *out = (Flowtap__Dropped **)list;
    return 0;
}

static int put_dropped(struct ft_arena *arena, const struct ft_trace_process *process, Flowtap__Process *out)
{
    for (size_t i = FT_CAUSE_COUNT; i > 0 && out->n_dropped == 0; i--)
        if (process->dropped[i - 1])
            out->n_dropped = i;
    out->dropped = (uint64_t *)process->dropped;
    return ft_message_from_dropped(arena, process->dropped_calls, process->dropped_calls_count, &out->n_dropped_calls,
                                   &out->dropped_calls);
}

static void put_numbers(const struct ft_trace_process *process, Flowtap__Process *out)
{
    out->pid = process->pid;
    out->ns_pid = process->ns_pid;
    out->parent_pid = process->parent_pid;
    out->parent = process->parent;
    out->is_exec = process->is_exec;
    out->start_ns = process->start_ns;
    out->end_ns = process->end_ns;
    out->uid = process->uid;
    out->segment = process->segment;
    out->is_argv_cut = process->is_argv_cut;
    out->exit = process->exit;
    out->exit_source = process->exit_source;
    out->exit_value = process->exit_value;
    out->emitted = process->emitted;
    out->stored = process->stored;
    out->names_lost = process->names_lost;
    out->bad_values = process->bad_values;
}

int ft_message_from_process(struct ft_arena *arena, uint32_t id, const struct ft_trace_process *process,
                            Flowtap__Process *out)
{
    int rc;

    flowtap__process__init(out);
    out->id = id;
    put_numbers(process, out);
    if (put_bytes(process->exe, &out->exe) || put_bytes(process->cwd, &out->cwd) ||
        put_bytes(process->user, &out->user))
        return -EINVAL;
    rc = put_job(arena, &process->job, &out->job);
    if (rc == 0)
        rc = put_argv(arena, process, out);
    if (rc == 0)
        rc = put_tags(arena, process->claims, process->claims_count, &out->n_claims, &out->claims);
    if (rc == 0)
        rc = put_tags(arena, process->tags, process->tags_count, &out->n_tags, &out->tags);
    if (rc == 0)
        rc = put_tags(arena, process->own_tags, process->own_tags_count, &out->n_own_tags, &out->own_tags);
    if (rc == 0)
        rc = ft_message_from_kernel(arena, &process->kernel, &out->kernel);
    if (rc == 0)
        rc = put_in_call(arena, process, out);
    return rc ? rc : put_dropped(arena, process, out);
}

int ft_message_from_header(struct ft_arena *arena, const struct ft_trace_header *header, Flowtap__Header *out)
{
    flowtap__header__init(out);
    out->major = FT_TRACE_MAJOR;
    out->minor = FT_TRACE_MINOR;
    if (put_bytes(header->writer, &out->writer) || put_bytes(header->host, &out->host) ||
        put_bytes(header->boot_id, &out->boot_id) || put_bytes(header->user, &out->user))
        return -EINVAL;
    out->uid = header->uid;
    out->realtime_offset_ns = header->realtime_offset_ns;
    out->clock_error_ns = header->clock_error_ns;
    out->created_ns = header->created_ns;
    out->part = header->part;
    return put_job(arena, &header->job, &out->job);
}

int ft_message_from_thread(uint32_t id, const struct ft_trace_thread *thread, Flowtap__Thread *out)
{
    flowtap__thread__init(out);
    out->id = id;
    out->process = thread->process;
    out->tid = thread->tid;
    out->ordinal = thread->ordinal;
    return put_bytes(thread->name, &out->name);
}

int ft_message_from_context(struct ft_arena *arena, uint32_t id, const struct ft_tag *tags, size_t count,
                            Flowtap__Context *out)
{
    flowtap__context__init(out);
    out->id = id;
    return put_tags(arena, tags, count, &out->n_tags, &out->tags);
}

int ft_message_from_gap(const struct ft_trace_gap *gap, Flowtap__Gap *out)
{
    flowtap__gap__init(out);
    out->kind = gap->kind;
    out->pid = gap->pid;
    out->process = gap->process;
    out->count = gap->count;
    out->when_ns = gap->when_ns;
    out->parent = gap->parent;
    out->inside_pid = gap->inside_pid;
    if (gap->kind == 0 || put_bytes(gap->exe, &out->exe) || put_bytes(gap->reason, &out->reason))
        return -EINVAL;
    return 0;
}

int ft_message_from_loss(const struct ft_trace_loss *loss, Flowtap__Loss *out)
{
    flowtap__loss__init(out);
    out->cause = loss->cause;
    out->process = loss->process;
    out->count = loss->count;
    out->when_ns = loss->when_ns;
    return loss->cause < FT_CAUSE_COUNT ? 0 : -EINVAL;
}

int ft_message_from_call(unsigned call, const struct ft_trace_call *text, Flowtap__Call *out)
{
    flowtap__call__init(out);
    out->id = call;
    out->group = text->group;
    if (call >= FT_TRACE_CALL_MAX || put_bytes(text->name, &out->name) || put_bytes(text->category, &out->category))
        return -EINVAL;
    return 0;
}
