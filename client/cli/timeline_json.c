// SPDX-License-Identifier: MIT
#include "client/cli/json.h"
#include "client/cli/report.h"
#include "client/cli/timeline.h"

static void put_time(struct ft_json *json, const char *key, bool is_known, uint64_t ns)
{
    ft_json_member_seconds_if(json, key, is_known, ns > INT64_MAX ? INT64_MAX : (int64_t)ns);
}

static void put_rate(struct ft_json *json, const char *key, bool is_known, double amount, int64_t length_ns)
{
    is_known = is_known && length_ns > 0;
    ft_json_member_double_if(json, key, is_known, is_known ? amount * 1e9 / (double)length_ns : 0);
}

static void put_figures(struct ft_json *json, const struct ft_timeline *timeline, const struct ft_timeline_bin *bin,
                        int64_t length_ns)
{
    uint64_t time_ns = bin->read.time_ns + bin->write.time_ns + bin->metadata.time_ns;
    bool has_unions = timeline->profiled == 0, is_known = timeline->knows_io;
    ft_json_member_uint_if(json, "read_bytes", is_known, bin->read.bytes);
    ft_json_member_uint_if(json, "written_bytes", is_known, bin->write.bytes);
    ft_json_member_uint_if(json, "reads", is_known, bin->read.calls);
    ft_json_member_uint_if(json, "writes", is_known, bin->write.calls);
    ft_json_member_uint_if(json, "metadata", is_known, bin->metadata.calls);
    put_time(json, "read_time", is_known, bin->read.time_ns);
    put_time(json, "write_time", is_known, bin->write.time_ns);
    put_time(json, "metadata_time", is_known, bin->metadata.time_ns);
    put_rate(json, "read_bandwidth", is_known, (double)bin->read.bytes, length_ns);
    put_rate(json, "write_bandwidth", is_known, (double)bin->write.bytes, length_ns);
    put_rate(json, "concurrency", is_known, (double)time_ns / 1e9, length_ns);
    ft_json_member_double_if(json, "request_size", bin->requests > 0,
                             bin->requests ? (double)bin->request_bytes / (double)bin->requests : 0);
    ft_json_member_seconds_if(json, "io_time", has_unions && is_known, bin->io_ns);
    ft_json_member_seconds_if(json, "compute_time", has_unions && timeline->knows_spans, bin->compute_ns);
    ft_json_member_seconds_if(json, "overlap_time", has_unions && is_known, bin->overlap_ns);
}

/* Of a bin, or of all (`bin` SIZE_MAX); those that have no time there are left out. */
static void put_categories(struct ft_json *json, const struct ft_timeline *timeline, size_t bin)
{
    ft_json_key(json, "categories");
    if (timeline->profiled > 0 || !timeline->knows_spans) {
        ft_json_null(json);
        return;
    }
    ft_json_begin_array(json);
    for (size_t i = 0; i < timeline->category_count; i++) {
        const struct ft_timeline_category *category = &timeline->categories[i];
        int64_t time_ns = bin == SIZE_MAX ? category->total_ns : category->bins_ns[bin];
        if (time_ns == 0) {
            continue;
        }
        ft_json_begin_object(json);
        if (category->name.data) {
            ft_json_member_text(json, "category", category->name.data, category->name.len);
        } else {
            ft_json_key(json, "category");
            ft_json_null(json);
        }
        ft_json_member_seconds(json, "exclusive_time", time_ns);
        ft_json_end_object(json);
    }
    ft_json_end_array(json);
}

void ft_timeline_print_json(const struct ft_timeline *timeline, uint64_t left_out, struct ft_state state, FILE *out)
{
    struct ft_json json;
    ft_json_init(&json, out, true);
    ft_json_begin_object(&json);
    ft_json_member_seconds(&json, "start", timeline->start_ns);
    ft_json_member_seconds(&json, "end", timeline->end_ns);
    ft_json_member_seconds(&json, "width", timeline->width_ns);
    ft_json_key(&json, "bins");
    ft_json_begin_array(&json);
    for (size_t i = 0; i < timeline->count; i++) {
        ft_json_begin_object(&json);
        ft_json_member_seconds(&json, "t", (int64_t)i * timeline->width_ns);
        put_figures(&json, timeline, &timeline->bins[i], ft_timeline_length(timeline, i));
        put_categories(&json, timeline, i);
        ft_json_end_object(&json);
    }
    ft_json_end_array(&json);
    ft_json_key(&json, "total");
    ft_json_begin_object(&json);
    put_figures(&json, timeline, &timeline->total, timeline->end_ns - timeline->start_ns);
    put_categories(&json, timeline, SIZE_MAX);
    ft_json_end_object(&json);
    ft_report_json_unseen(&json, state);
    ft_json_member_uint(&json, "profiled", timeline->profiled);
    ft_json_member_uint(&json, "profiled_left_out", left_out);
    ft_report_json_state(&json, state);
    ft_json_end_object(&json);
    ft_json_end_line(&json);
    ft_json_flush(&json);
}
