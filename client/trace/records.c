// SPDX-License-Identifier: MIT
/* Records by index, in the caller's structs. */
#include <errno.h>

#include "client/trace/impl.h"

#define GIVE(value) ft_library_give(out, out_bytes, &(value), sizeof(value))

static int64_t when(const struct flowtap_trace *trace, size_t part, int64_t mono_ns)
{
    return mono_ns ? ft_trace_set_realtime_ns(trace->set, part, mono_ns) : 0;
}

int flowtap_trace_facts_get(const struct flowtap_trace *trace, struct flowtap_trace_facts *out, size_t out_bytes)
{
    const struct ft_trace_set *set = trace->set;
    struct flowtap_trace_facts facts = {
        .events = ft_trace_set_events(set),
        .profiled_events = ft_trace_set_profiled(set),
        .bytes = ft_trace_set_bytes(set),
        .part_count = ft_trace_set_reader_count(set),
        .gap_count = trace->gap_count,
        .problem_count = trace->problem_count,
        .host_count = (uint32_t)ft_trace_set_host_count(set),
        .process_count = (uint32_t)ft_trace_set_process_count(set),
        .thread_count = (uint32_t)ft_trace_set_thread_count(set),
        .file_count = (uint32_t)ft_trace_set_file_count(set),
        .is_partial = ft_trace_set_is_partial(set),
    };
    if (!ft_trace_set_span(set, &facts.start_ns, &facts.end_ns)) {
        facts.start_ns = facts.end_ns = 0;
    }
    GIVE(facts);
    return 0;
}

static void set_job(const struct ft_trace_job *job, struct flowtap_trace_process *process)
{
    process->job = ft_library_text(job->id);
    process->step = ft_library_text(job->step);
    process->workflow = ft_library_text(job->workflow);
    process->job_source = ft_job_source_name(job->source);
}

static void set_counts(const struct ft_trace_process *record, struct flowtap_trace_process *process)
{
    const struct ft_trace_kernel *kernel = &record->kernel;
    process->emitted = record->emitted;
    process->stored = record->stored;
    for (int cause = 0; cause < FT_CAUSE_COUNT; cause++) {
        process->dropped[cause] = record->dropped[cause];
    }
    process->is_kernel_known = kernel->is_known;
    process->rchar = kernel->rchar;
    process->wchar = kernel->wchar;
    process->read_bytes = kernel->read_bytes;
    process->write_bytes = kernel->write_bytes;
    process->syscr = kernel->syscr;
    process->syscw = kernel->syscw;
}

int flowtap_trace_process_get(const struct flowtap_trace *trace, uint32_t process, struct flowtap_trace_process *out,
                              size_t out_bytes)
{
    if (process >= ft_trace_set_process_count(trace->set)) {
        return -EINVAL;
    }
    const struct ft_trace_set_process *known = ft_trace_set_process(trace->set, process);
    const struct ft_trace_process *record = known->record;
    const struct ft_trace_header *header = ft_trace_reader_header(ft_trace_set_reader(trace->set, known->reader));
    struct flowtap_trace_process given = {
        .host = known->host,
        .parent = known->parent,
        .pid = record->pid,
        .ns_pid = record->ns_pid,
        .parent_pid = record->parent_pid,
        .uid = record->uid,
        .start_ns = when(trace, known->reader, record->start_ns),
        .end_ns = when(trace, known->reader, record->end_ns),
        .exe = ft_library_text(record->exe),
        .cwd = ft_library_text(record->cwd),
        .user = ft_library_text(record->user.len ? record->user : header->user),
        .rank = record->job.rank,
        .local_rank = record->job.local_rank,
        .exit = ft_exit_name(record->exit),
        .exit_source = ft_exit_source_name(record->exit_source),
        .exit_value = record->exit_value,
        .is_exec = record->is_exec,
        .argument_count = (uint32_t)record->argv_count,
        .tag_count = (uint32_t)record->tags_count,
        .in_call_count = (uint32_t)record->in_call_count,
    };
    set_job(record->job.id.len ? &record->job : &header->job, &given);
    set_counts(record, &given);
    GIVE(given);
    return 0;
}

int flowtap_trace_in_call_get(const struct flowtap_trace *trace, uint32_t process, size_t i,
                              struct flowtap_trace_in_call *out, size_t out_bytes)
{
    const struct ft_trace_set_process *known =
        process < ft_trace_set_process_count(trace->set) ? ft_trace_set_process(trace->set, process) : NULL;
    if (!known || i >= known->record->in_call_count) {
        return -EINVAL;
    }
    const struct ft_trace_in_call *in = &known->record->in_call[i];
    struct flowtap_trace_in_call given = {.tid = in->tid,
                                          .call = in->call,
                                          .path = ft_library_path(trace, known->reader, in->file),
                                          .since_ns = when(trace, known->reader, in->since_ns)};
    GIVE(given);
    return 0;
}

int flowtap_trace_thread_get(const struct flowtap_trace *trace, uint32_t thread, struct flowtap_trace_thread *out,
                             size_t out_bytes)
{
    if (thread >= ft_trace_set_thread_count(trace->set)) {
        return -EINVAL;
    }
    const struct ft_library_thread *at = &trace->threads[thread];
    const struct ft_trace_thread *record = ft_trace_reader_thread(ft_trace_set_reader(trace->set, at->part), at->id);
    struct flowtap_trace_thread given = {.process = ft_trace_set_process_of_thread(trace->set, at->part, at->id),
                                         .tid = record ? record->tid : 0,
                                         .ordinal = record ? record->ordinal : 0,
                                         .name = ft_library_text(record ? record->name : (struct ft_bytes){0})};
    GIVE(given);
    return 0;
}

int flowtap_trace_file_get(const struct flowtap_trace *trace, uint32_t file, struct flowtap_trace_file *out,
                           size_t out_bytes)
{
    if (file >= ft_trace_set_file_count(trace->set)) {
        return -EINVAL;
    }
    const struct ft_trace_set_file *known = ft_trace_set_file(trace->set, file);
    const struct ft_trace_reader *reader = ft_trace_set_reader(trace->set, known->reader);
    const struct ft_trace_file *record = &known->record;
    struct flowtap_trace_file given = {
        .host = known->host, .path = ft_library_text(known->path), .kind = ft_file_kind_name(record->kind)};
    given.mount = ft_library_text(ft_trace_reader_name(reader, record->mount));
    given.file_system = ft_library_text(ft_trace_reader_name(reader, record->fstype));
    given.block_size = record->block_size;
    given.device = record->dev;
    given.inode = record->inode;
    given.birth = record->birth;
    GIVE(given);
    return 0;
}
