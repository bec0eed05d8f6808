// SPDX-License-Identifier: MIT
/* The summary's JSON document; its keys are a contract. */
#include "client/cli/cli.h"
#include "client/cli/json.h"
#include "client/cli/report.h"
#include "client/cli/summary.h"
#include "client/cli/summary_groups.h"

static void put_time(struct ft_json *json, const char *key, uint64_t ns)
{
    ft_json_member_seconds(json, key, ns > INT64_MAX ? INT64_MAX : (int64_t)ns);
}

static void put_counts(struct ft_json *json, const struct ft_summary *summary)
{
    const struct ft_job *job = &summary->job;
    ft_json_member_uint(json, "events", job->emitted);
    ft_json_member_uint(json, "stored", job->stored);
    ft_json_member_uint(json, "dropped", job->dropped);
    ft_json_key(json, "dropped_by_cause");
    ft_json_begin_object(json);
    for (unsigned cause = 0; cause < FT_CAUSE_COUNT; cause++) {
        ft_json_member_uint(json, ft_cause_name(cause), job->dropped_by_cause[cause]);
    }
    ft_json_end_object(json);
    ft_json_member_uint_if(json, "missing", !summary->is_quick, job->missing);
    ft_json_member_uint(json, "profiled", job->profiled);
    ft_json_key(json, "capped_since");
    if (job->capped_since_ns) {
        ft_json_seconds(json, job->capped_since_ns);
    } else {
        ft_json_null(json);
    }
    ft_report_json_bytes(json, "where", FT_BYTES(summary->where ? summary->where : ""));
    ft_json_member_uint_if(json, "chosen", summary->where != NULL && ft_summary_can_choose(summary),
                           summary->scan.rows);
    ft_json_member_uint(json, "hosts", ft_trace_set_host_count(summary->set));
    ft_json_member_uint(json, "processes", job->coverage.tasks);
    ft_json_member_uint(json, "images", ft_trace_set_process_count(summary->set));
    ft_json_member_uint(json, "threads", job->thread_count);
    ft_json_member_uint_if(json, "files", !summary->is_quick, ft_scan_count_files(&summary->scan));
}

static bool is_same(struct ft_bytes a, struct ft_bytes b)
{
    return a.len == b.len && (a.len == 0 || __builtin_memcmp(a.data, b.data, a.len) == 0);
}

/* A key with several values (processes that differ) has an array of them. */
static void put_tags(struct ft_json *json, const struct ft_job *job)
{
    ft_json_begin_object(json);
    for (size_t i = 0; i < job->tag_count; i++) {
        size_t values = 0;
        bool is_first = true;
        for (size_t k = 0; k < job->tag_count; k++) {
            bool is_alike = is_same(job->tags[k].key, job->tags[i].key);
            values += is_alike;
            is_first &= !(is_alike && k < i);
        }
        if (!is_first) {
            continue;
        }
        ft_json_key_bytes(json, job->tags[i].key.data, job->tags[i].key.len);
        if (values > 1) {
            ft_json_begin_array(json);
        }
        for (size_t k = i; k < job->tag_count; k++) {
            if (is_same(job->tags[k].key, job->tags[i].key)) {
                ft_json_text(json, job->tags[k].value.data, job->tags[k].value.len);
            }
        }
        if (values > 1) {
            ft_json_end_array(json);
        }
    }
    ft_json_end_object(json);
}

static void put_identity(struct ft_json *json, const struct ft_job *job)
{
    ft_json_key(json, "jobs");
    ft_json_begin_array(json);
    for (size_t i = 0; i < job->name_count; i++) {
        ft_json_begin_object(json);
        ft_report_json_bytes(json, "job", job->names[i].id);
        ft_json_member_string(json, "source", ft_job_source_name(job->names[i].source));
        ft_report_json_bytes(json, "user", job->names[i].user);
        ft_report_json_bytes(json, "workflow", job->names[i].workflow);
        ft_json_end_object(json);
    }
    ft_json_end_array(json);
    ft_json_key(json, "tags");
    put_tags(json, job);
    if (job->has_span) {
        ft_json_member_seconds(json, "start", job->start_ns);
        ft_json_member_seconds(json, "end", job->end_ns);
    } else {
        ft_json_key(json, "start");
        ft_json_null(json);
        ft_json_key(json, "end");
        ft_json_null(json);
    }
    ft_json_member_seconds(json, "wall_time", job->has_span ? job->end_ns - job->start_ns : 0);
}

/* Buckets of powers of two that are not empty: `from` to `to`, both included. */
static void put_buckets(struct ft_json *json, const char *key, const uint64_t *buckets, bool is_time)
{
    ft_json_key(json, key);
    ft_json_begin_object(json);
    ft_json_key(json, "buckets");
    ft_json_begin_array(json);
    for (unsigned b = 0; b < FT_LOG2_BUCKETS; b++) {
        if (buckets[b] == 0) {
            continue;
        }
        ft_json_begin_object(json);
        uint64_t from = b ? UINT64_C(1) << (b - 1) : 0, to = b == 64 ? UINT64_MAX : (UINT64_C(1) << b) - 1;
        is_time ? put_time(json, "from", from) : ft_json_member_uint(json, "from", from);
        is_time ? put_time(json, "to", to) : ft_json_member_uint(json, "to", to);
        ft_json_member_uint(json, "count", buckets[b]);
        ft_json_end_object(json);
    }
    ft_json_end_array(json);
    ft_json_end_object(json);
}

static void put_call(struct ft_json *json, const struct ft_call_sum *call)
{
    ft_json_begin_object(json);
    ft_json_member_string(json, "name", call->name);
    ft_json_member_string(json, "category", call->category);
    ft_json_member_uint(json, "count", call->sum.count);
    ft_json_member_uint(json, "bytes", call->sum.bytes);
    put_time(json, "time", call->sum.time_ns);
    if (ft_call_sum_knows_each(call)) {
        put_time(json, "min", call->min_ns);
        put_time(json, "max", call->max_ns);
    } else {
        ft_json_key(json, "min");
        ft_json_null(json);
        ft_json_key(json, "max");
        ft_json_null(json);
    }
    ft_json_member_uint_if(json, "errors", ft_call_sum_knows_each(call), call->errors);
    ft_json_member_uint(json, "dropped", call->dropped.count);
    ft_summary_put_percentiles(json, call);
    put_buckets(json, "sizes", call->sizes, false);
    put_buckets(json, "durations", call->durations, true);
    ft_json_end_object(json);
}

static void put_calls(struct ft_json *json, const struct ft_calls *calls)
{
    for (int spans = 0; spans < 2; spans++) {
        ft_json_key(json, spans ? "spans" : "calls");
        ft_json_begin_array(json);
        for (size_t i = 0; i < calls->count; i++) {
            if (calls->items[i].is_span == (spans == 1)) {
                put_call(json, &calls->items[i]);
            }
        }
        ft_json_end_array(json);
    }
}

static void begin_sum(struct ft_json *json, const struct ft_summary *summary, const char *key, const struct ft_sum *sum,
                      bool has_bandwidth, uint64_t late_bytes)
{
    bool is_known = ft_summary_can_choose(summary);
    ft_json_key(json, key);
    ft_json_begin_object(json);
    ft_json_member_uint_if(json, "count", is_known, sum->count);
    ft_json_member_uint_if(json, "bytes", is_known, sum->bytes);
    ft_json_member_seconds_if(json, "time", is_known, sum->time_ns > INT64_MAX ? INT64_MAX : (int64_t)sum->time_ns);
    if (has_bandwidth) {
        ft_json_member_double_if(json, "bandwidth", is_known && (sum->bytes == 0 || sum->bytes > late_bytes),
                                 sum->time_ns ? (double)(sum->bytes - late_bytes) * 1e9 / (double)sum->time_ns : 0);
    }
}

/* Of sums it is not known when each event went on. */
static void put_unions(struct ft_json *json, const struct ft_summary *summary)
{
    const struct ft_sweep *sweep = &summary->scan.sweep;
    const int64_t *total = sweep->totals.total_ns;
    bool is_known = ft_summary_knows_times(summary), io_is_known = ft_summary_knows_io_times(summary);
    ft_json_member_seconds_if(json, "io_time", io_is_known, total[FT_SWEEP_IO]);
    ft_json_member_seconds_if(json, "app_time", is_known, total[FT_SWEEP_APP]);
    ft_json_member_seconds_if(json, "compute_time", is_known, total[FT_SWEEP_COMPUTE]);
    ft_json_member_seconds_if(json, "app_io_time", is_known, total[FT_SWEEP_APP_IO]);
    ft_json_member_seconds_if(json, "unoverlapped_io_time", io_is_known,
                              total[FT_SWEEP_IO] - sweep->totals.io_and_compute_ns);
    ft_json_member_seconds_if(json, "unoverlapped_compute_time", is_known && io_is_known,
                              total[FT_SWEEP_COMPUTE] - sweep->totals.io_and_compute_ns);
    ft_json_member_seconds_if(json, "unoverlapped_app_io_time", is_known,
                              total[FT_SWEEP_APP_IO] - sweep->totals.app_io_and_compute_ns);
}

static void put_coverage(struct ft_json *json, const struct ft_job *job, bool is_known)
{
    ft_json_key(json, "coverage");
    if (!is_known) {
        ft_json_null(json);
        return;
    }
    ft_json_begin_object(json);
    ft_json_member_uint(json, "traced_bytes", job->coverage.traced_bytes);
    ft_json_member_uint(json, "kernel_bytes", job->coverage.kernel_bytes);
    ft_json_member_uint(json, "processes", job->coverage.known_tasks);
    ft_json_end_object(json);
}

static void put_unseen(struct ft_json *json, const struct ft_summary *summary)
{
    const struct ft_job *job = &summary->job;
    put_coverage(json, job, !summary->is_quick);
    ft_report_json_gaps(json, job);
    ft_json_member_uint(json, "names_lost", job->names_lost);
    ft_json_member_uint(json, "settings_ignored", job->bad_values);
    put_time(json, "clock_error", job->clock_error_ns);
    ft_report_json_state(json, summary->state);
}

void ft_summary_print_json(const struct ft_summary *summary, FILE *out, size_t top)
{
    struct ft_json json;
    ft_json_init(&json, out, true);
    ft_json_begin_object(&json);
    put_counts(&json, summary);
    put_identity(&json, &summary->job);
    ft_summary_put_categories(&json, summary);
    put_calls(&json, &summary->calls);
    begin_sum(&json, summary, "read", &summary->calls.read, true, summary->calls.late.read);
    ft_summary_put_transfer(&json, summary, false);
    ft_json_end_object(&json);
    begin_sum(&json, summary, "write", &summary->calls.write, true, summary->calls.late.write);
    ft_summary_put_transfer(&json, summary, true);
    ft_json_end_object(&json);
    begin_sum(&json, summary, "metadata", &summary->calls.metadata, true, 0);
    ft_json_end_object(&json);
    begin_sum(&json, summary, "other_io", &summary->calls.other_io, false, 0);
    ft_json_end_object(&json);
    ft_summary_put_moved(&json, summary);
    put_unions(&json, summary);
    ft_summary_put_hottest(&json, summary, top);
    ft_summary_put_waits(&json, summary, top);
    ft_summary_put_stragglers(&json, summary, top);
    put_unseen(&json, summary);
    if (summary->groups) {
        ft_summary_put_groups(&json, summary->groups);
    }
    ft_json_end_object(&json);
    ft_json_end_line(&json);
    ft_json_flush(&json);
}
