// SPDX-License-Identifier: MIT
/* Parts of the summary's JSON document: how data moved, the hottest files, the slowest processes. */
#include <stdlib.h>

#include "client/cli/analysis_percentile.h"
#include "client/cli/analysis_stragglers.h"
#include "client/cli/report.h"
#include "client/cli/summary.h"

static void put_time(struct ft_json *json, const char *key, uint64_t ns)
{
    ft_json_member_seconds(json, key, ns > INT64_MAX ? INT64_MAX : (int64_t)ns);
}

static const struct {
    unsigned percent;
    const char *time_key, *size_key;
} percentiles[] = {{50, "p50", "size_p50"}, {95, "p95", "size_p95"}, {99, "p99", "size_p99"}};

void ft_summary_put_percentiles(struct ft_json *json, const struct ft_call_sum *call)
{
    uint64_t sized = 0;
    for (unsigned b = 0; b < FT_LOG2_BUCKETS; b++) {
        sized += call->sizes[b];
    }
    for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++) {
        ft_json_key(json, percentiles[i].time_key);
        if (ft_call_sum_knows_each(call)) {
            ft_json_seconds(
                json, (int64_t)ft_percentile(call->durations, percentiles[i].percent, call->min_ns, call->max_ns));
        } else {
            ft_json_null(json);
        }
    }
    for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++) {
        ft_json_key(json, percentiles[i].size_key);
        sized ? ft_json_uint(json, ft_percentile(call->sizes, percentiles[i].percent, 0, UINT64_MAX))
              : ft_json_null(json);
    }
}

static double rate(uint64_t bytes, int64_t time_ns)
{
    return time_ns > 0 ? (double)bytes * 1e9 / (double)time_ns : 0;
}

void ft_summary_put_transfer(struct ft_json *json, const struct ft_summary *summary, bool is_write)
{
    struct ft_summary_side side;
    ft_summary_side(summary, is_write, &side);
    bool is_known = ft_summary_can_choose(summary);
    bool knows_sizes = is_known && (side.sized > 0 || side.all.count == 0);
    ft_json_member_uint(json, "dropped", side.dropped);
    ft_json_member_uint_if(json, "stored_bytes", is_known, side.stored.bytes);
    ft_json_member_seconds_if(json, "busy_time", side.knows_times, side.busy_ns);
    ft_json_member_double_if(json, "busy_bandwidth",
                             side.knows_times && (side.stored.bytes == 0 || side.timed_bytes > 0),
                             rate(side.timed_bytes, side.busy_ns));
    ft_json_member_uint_if(json, "sequential", side.knows_times, summary->scan.access.counts.sequential[is_write]);
    ft_json_member_uint_if(json, "random", side.knows_times, summary->scan.access.counts.random[is_write]);
    ft_json_member_uint_if(json, "sized", is_known, side.sized);
    ft_json_member_uint_if(json, "small", knows_sizes, side.small);
    ft_json_member_uint_if(json, "empty", knows_sizes, side.empty);
}

void ft_summary_put_moved(struct ft_json *json, const struct ft_summary *summary)
{
    int64_t busy_ns = summary->scan.sweep.totals.total_ns[FT_SWEEP_MOVE];
    struct ft_summary_side read, write;
    ft_summary_side(summary, false, &read);
    ft_summary_side(summary, true, &write);
    uint64_t stored = read.stored.bytes + write.stored.bytes;
    uint64_t timed = read.timed_bytes + write.timed_bytes;
    bool has_stored = read.stored.count + write.stored.count > 0 || read.all.count + write.all.count == 0;
    bool is_known = ft_summary_knows_times(summary) && has_stored;
    ft_json_key(json, "moved");
    ft_json_begin_object(json);
    ft_json_member_uint_if(json, "bytes", ft_summary_can_choose(summary), read.all.bytes + write.all.bytes);
    ft_json_member_uint_if(json, "stored_bytes", ft_summary_can_choose(summary), stored);
    ft_json_member_seconds_if(json, "busy_time", is_known, busy_ns);
    ft_json_member_double_if(json, "busy_bandwidth", is_known && (stored == 0 || timed > 0), rate(timed, busy_ns));
    ft_json_end_object(json);
}

void ft_summary_put_hottest(struct ft_json *json, const struct ft_summary *summary, size_t top)
{
    size_t count;
    uint32_t *order = ft_summary_hottest_files(summary, top, &count);
    ft_json_key(json, "hottest_files");
    ft_json_begin_array(json);
    for (size_t i = 0; i < count && i < top; i++) {
        struct ft_file_sum sum = ft_file_sums_get(&summary->scan.files, order[i]);
        const struct ft_entry *file = &summary->scan.entries.items[order[i]];
        ft_json_begin_object(json);
        ft_report_json_bytes(json, "path", ft_entry_path(&summary->scan.entries, file));
        ft_report_json_bytes(json, "host",
                             ft_trace_set_host_name(summary->set, ft_entry_host(&summary->scan.entries, file)));
        put_time(json, "time", sum.read_time_ns + sum.write_time_ns + sum.metadata_time_ns);
        ft_json_member_uint(json, "read_bytes", sum.read_bytes);
        ft_json_member_uint(json, "written_bytes", sum.written_bytes);
        ft_json_member_uint(json, "calls", sum.reads + sum.writes + sum.metadata);
        ft_json_member_uint(json, "processes", sum.processes);
        ft_json_end_object(json);
    }
    ft_json_end_array(json);
    free(order);
}

void ft_summary_put_stragglers(struct ft_json *json, const struct ft_summary *summary, size_t top)
{
    size_t count;
    struct ft_straggler *found = ft_stragglers_find(summary->set, &summary->scan, summary->where != NULL, &count);
    ft_json_key(json, "stragglers");
    ft_json_begin_array(json);
    for (size_t i = 0; i < count && i < top; i++) {
        ft_json_begin_object(json);
        ft_report_json_who(json, summary->set, found[i].process);
        put_time(json, "io_time", (uint64_t)found[i].io_ns);
        put_time(json, "median", (uint64_t)found[i].median_ns);
        ft_json_end_object(json);
    }
    ft_json_end_array(json);
    ft_json_member_uint(json, "stragglers_found", count);
    free(found);
}
