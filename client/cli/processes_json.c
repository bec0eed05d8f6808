// SPDX-License-Identifier: MIT
/* The JSON document of `flowtap processes`; its keys are a contract. */
#include <stdlib.h>

#include "client/cli/analysis_parents.h"
#include "client/cli/cli.h"
#include "client/cli/processes.h"
#include "client/cli/report.h"
#include "client/cli/text.h"

/* A member that is null where it is not known. */
static void put_if(struct ft_json *json, const char *key, bool is_known, int64_t value)
{
    ft_json_key(json, key);
    is_known ? ft_json_int(json, value) : ft_json_null(json);
}

static void put_when(struct ft_json *json, const char *key, const struct ft_trace_set *set, size_t reader,
                     int64_t mono_ns)
{
    ft_json_key(json, key);
    mono_ns ? ft_json_seconds(json, ft_trace_set_realtime_ns(set, reader, mono_ns)) : ft_json_null(json);
}

static void put_argv(struct ft_json *json, const struct ft_trace_process *record)
{
    bool is_text = true;
    ft_json_key(json, "argv");
    ft_json_begin_array(json);
    for (size_t i = 0; i < record->argv_count; i++) {
        ft_json_text(json, record->argv[i].data, record->argv[i].len);
        is_text &= ft_text_is_utf8(record->argv[i].data, record->argv[i].len);
    }
    ft_json_end_array(json);
    if (record->is_argv_cut) {
        ft_json_member_bool(json, "argv_cut", true);
    }
    if (!is_text) {
        ft_json_key(json, "argv_bytes");
        ft_json_begin_array(json);
        for (size_t i = 0; i < record->argv_count; i++) {
            ft_json_base64(json, record->argv[i].data, record->argv[i].len);
        }
        ft_json_end_array(json);
    }
}

static void put_source(struct ft_json *json, const char *key, uint8_t source)
{
    if (source == FT_JOB_SOURCE_UNKNOWN) {
        ft_json_key(json, key);
        ft_json_null(json);
    } else {
        ft_json_member_string(json, key, ft_job_source_name(source));
    }
}

static void put_job(struct ft_json *json, const struct ft_trace_job *job)
{
    ft_report_json_bytes(json, "job", job->id);
    ft_json_member_string(json, "job_source", ft_job_source_name(job->source));
    ft_report_json_bytes(json, "workflow", job->workflow);
    ft_report_json_bytes(json, "step", job->step);
    put_source(json, "step_source", job->step_source);
    put_if(json, "rank", job->rank >= 0, job->rank);
    put_source(json, "rank_source", job->rank_source);
    put_if(json, "local_rank", job->local_rank >= 0, job->local_rank);
    put_source(json, "local_rank_source", job->local_rank_source);
}

static void put_exit(struct ft_json *json, const struct ft_trace_process *record)
{
    ft_json_key(json, "exit");
    if (record->exit == FT_EXIT_NONE) {
        ft_json_null(json);
        return;
    }
    ft_json_begin_object(json);
    if (record->exit == FT_EXIT_EXEC) {
        ft_json_member_bool(json, "exec", true);
    } else {
        ft_json_member_int(json, ft_exit_name(record->exit), record->exit_value);
    }
    ft_json_member_string(json, "source", ft_exit_source_name(record->exit_source));
    ft_json_end_object(json);
}

/* What it began with, and what it set for itself. */
static void put_tags(struct ft_json *json, const struct ft_trace_process *record)
{
    size_t count = record->tags_count + record->own_tags_count;
    struct ft_tag *tags = ft_cli_alloc(count * sizeof(*tags));
    for (size_t i = 0; i < count; i++) {
        tags[i] = i < record->tags_count ? record->tags[i] : record->own_tags[i - record->tags_count];
    }
    ft_json_key(json, "tags");
    ft_report_json_tags(json, tags, count);
    free(tags);
}

static void put_in_call(struct ft_json *json, const struct ft_trace_set *set,
                        const struct ft_trace_set_process *process)
{
    const struct ft_trace_reader *reader = ft_trace_set_reader(set, process->reader);
    ft_json_key(json, "in_call");
    ft_json_begin_array(json);
    for (size_t i = 0; i < process->record->in_call_count; i++) {
        const struct ft_trace_in_call *in = &process->record->in_call[i];
        char room[32];
        ft_json_begin_object(json);
        put_if(json, "tid", in->tid != 0, in->tid);
        ft_json_member_string(json, "call", ft_call_name_find(reader, in->call, room, sizeof(room)));
        ft_report_json_bytes(json, "path", ft_trace_reader_file_path(reader, in->file));
        put_when(json, "since", set, process->reader, in->since_ns);
        ft_json_end_object(json);
    }
    ft_json_end_array(json);
}

static void put_kernel(struct ft_json *json, const struct ft_trace_kernel *kernel)
{
    ft_json_key(json, "kernel");
    if (!kernel->is_known) {
        ft_json_null(json);
        return;
    }
    ft_json_begin_object(json);
    ft_json_member_uint(json, "rchar", kernel->rchar);
    ft_json_member_uint(json, "wchar", kernel->wchar);
    ft_json_member_uint(json, "read_bytes", kernel->read_bytes);
    ft_json_member_uint(json, "write_bytes", kernel->write_bytes);
    ft_json_member_uint(json, "syscr", kernel->syscr);
    ft_json_member_uint(json, "syscw", kernel->syscw);
    ft_json_member_uint(json, "major_faults", kernel->major_faults);
    ft_json_end_object(json);
}

static void put_counts(struct ft_json *json, const struct ft_processes *processes, uint32_t p)
{
    const struct ft_trace_process *record = ft_trace_set_process(processes->set, p)->record;
    const struct ft_process_sum *sum = &processes->sums[p];
    ft_json_member_uint(json, "events", ft_job_emitted(processes->set, &processes->scan, p));
    ft_json_member_uint(json, "stored", processes->scan.processes[p].events);
    if (processes->is_chosen) {
        ft_json_member_uint(json, "chosen", sum->events);
    }
    ft_json_member_uint(json, "dropped", ft_job_dropped(record));
    ft_json_member_uint(json, "missing", ft_job_missing(processes->set, p, processes->scan.processes[p].events));
    ft_json_key(json, "dropped_by_cause");
    ft_json_begin_object(json);
    for (unsigned cause = 0; cause < FT_CAUSE_COUNT; cause++) {
        ft_json_member_uint(json, ft_cause_name(cause), record->dropped[cause]);
    }
    ft_json_end_object(json);
    bool is_known = ft_processes_knows_io(processes, p);
    ft_json_member_seconds_if(json, "io_time", is_known,
                              sum->io_time_ns > INT64_MAX ? INT64_MAX : (int64_t)sum->io_time_ns);
    ft_json_member_uint_if(json, "read_bytes", is_known, sum->read_bytes);
    ft_json_member_uint_if(json, "written_bytes", is_known, sum->written_bytes);
    ft_json_member_uint(json, "names_lost", record->names_lost);
    ft_json_member_uint(json, "settings_ignored", record->bad_values);
}

/* How long something was going on in the process, on any of its threads. */
static void put_busy(struct ft_json *json, const struct ft_processes *processes, uint32_t p)
{
    const struct ft_sweep_totals *times = &processes->times[p];
    const struct ft_process_sum *sum = &processes->sums[p];
    /* Of sums it is not known when each event went on. */
    bool is_known = processes->scan.processes[p].profiled == 0 && ft_processes_knows_times(processes, p);
    bool io_is_known = is_known && ft_processes_knows_io(processes, p);
    int64_t moving_ns = times->total_ns[FT_SWEEP_MOVE];
    ft_json_key(json, "busy");
    ft_json_begin_object(json);
    ft_json_member_seconds_if(json, "io_time", io_is_known, times->total_ns[FT_SWEEP_IO]);
    ft_json_member_seconds_if(json, "app_time", is_known, times->total_ns[FT_SWEEP_APP]);
    ft_json_member_seconds_if(json, "compute_time", is_known, times->total_ns[FT_SWEEP_COMPUTE]);
    ft_json_member_seconds_if(json, "app_io_time", is_known, times->total_ns[FT_SWEEP_APP_IO]);
    ft_json_member_seconds_if(json, "unoverlapped_io_time", io_is_known,
                              times->total_ns[FT_SWEEP_IO] - times->io_and_compute_ns);
    ft_json_member_seconds_if(json, "unoverlapped_compute_time", io_is_known,
                              times->total_ns[FT_SWEEP_COMPUTE] - times->io_and_compute_ns);
    ft_json_member_seconds_if(json, "unoverlapped_app_io_time", is_known,
                              times->total_ns[FT_SWEEP_APP_IO] - times->app_io_and_compute_ns);
    ft_json_member_seconds_if(json, "moving_time", io_is_known, moving_ns);
    uint64_t moved = sum->read_bytes + sum->written_bytes, timed = moved - sum->late_bytes;
    ft_json_member_double_if(json, "bandwidth", io_is_known && (moved == 0 || timed > 0),
                             moving_ns > 0 ? (double)timed * 1e9 / (double)moving_ns : 0);
    ft_json_end_object(json);
}

static void put_process(struct ft_json *json, const struct ft_processes *processes, uint32_t p)
{
    const struct ft_trace_set_process *process = ft_trace_set_process(processes->set, p);
    const struct ft_trace_process *record = process->record;
    ft_json_begin_object(json);
    ft_json_member_uint(json, "id", p);
    uint32_t parent = processes->job.parents[p];
    put_if(json, "parent_id", parent != FT_TRACE_SET_NONE, parent);
    ft_report_json_bytes(json, "host", ft_trace_set_host_name(processes->set, process->host));
    ft_json_member_uint(json, "pid", record->pid);
    put_if(json, "parent", record->parent_pid != 0, record->parent_pid);
    put_if(json, "ns_pid", record->ns_pid != 0, record->ns_pid);
    ft_json_member_bool(json, "is_exec", ft_parents_is_exec(processes->set, processes->job.parents, p));
    put_when(json, "start", processes->set, process->reader, record->start_ns);
    put_when(json, "end", processes->set, process->reader, record->end_ns);
    ft_report_json_bytes(json, "exe", record->exe);
    put_argv(json, record);
    ft_report_json_bytes(json, "cwd", record->cwd);
    ft_json_member_uint(json, "uid", record->uid);
    ft_report_json_bytes(json, "user", record->user);
    put_job(json, &record->job);
    put_tags(json, record);
    put_counts(json, processes, p);
    put_busy(json, processes, p);
    put_exit(json, record);
    put_in_call(json, processes->set, process);
    put_kernel(json, &record->kernel);
    ft_json_end_object(json);
}

void ft_processes_print_json(const struct ft_processes *processes, FILE *out)
{
    struct ft_json json;
    ft_json_init(&json, out, true);
    ft_json_begin_object(&json);
    ft_json_key(&json, processes->by ? "groups" : "processes");
    ft_json_begin_array(&json);
    if (processes->by) {
        ft_processes_put_groups(&json, processes);
    }
    for (size_t i = 0; !processes->by && i < processes->shown; i++) {
        put_process(&json, processes, processes->order[i]);
    }
    ft_json_end_array(&json);
    ft_report_json_gaps(&json, &processes->job);
    ft_report_json_unseen(&json, processes->state);
    ft_json_member_uint(&json, "missing", processes->job.missing);
    ft_json_member_uint(&json, "profiled_left_out", processes->is_chosen ? processes->job.profiled : 0);
    ft_report_json_state(&json, processes->state);
    ft_json_end_object(&json);
    ft_json_end_line(&json);
    ft_json_flush(&json);
}
