// SPDX-License-Identifier: MIT
/* What of a timeline is no row of an event: sums (PROFILE frames) in its bins, and whether what was dropped leaves it known. */
#include "client/cli/analysis_count.h"
#include "client/cli/analysis_job.h"
#include "client/cli/analysis_timeline.h"
#include "client/cli/report.h"

/* What calls that came as one sum did, from the first's start to the last's end. */
struct sum {
    unsigned mask, moved;
    int64_t start_ns, span_ns;
    uint64_t calls, bytes, time_ns;
};

static void add_part(struct ft_timeline_bin *bin, const struct sum *sum, uint64_t calls, uint64_t bytes,
                     uint64_t time_ns)
{
    bin->read.bytes += sum->moved & FT_COUNT_READ ? bytes : 0;
    bin->write.bytes += sum->moved & FT_COUNT_WRITE ? bytes : 0;
    bin->read.time_ns += sum->mask & FT_COUNT_READ ? time_ns : 0;
    bin->write.time_ns += sum->mask & FT_COUNT_WRITE ? time_ns : 0;
    bin->metadata.time_ns += sum->mask & FT_COUNT_METADATA ? time_ns : 0;
    bin->read.calls += sum->mask & FT_COUNT_READ ? calls : 0;
    bin->write.calls += sum->mask & FT_COUNT_WRITE ? calls : 0;
    bin->metadata.calls += sum->mask & FT_COUNT_METADATA ? calls : 0;
    if (sum->mask & (FT_COUNT_READ | FT_COUNT_WRITE)) {
        bin->requests += calls;
        bin->request_bytes += bytes;
    }
}

static uint64_t part_of(uint64_t whole, int64_t part_ns, int64_t whole_ns)
{
    return part_ns == whole_ns ? whole : (uint64_t)((unsigned __int128)whole * (uint64_t)part_ns / (uint64_t)whole_ns);
}

/* What was done up to a bin's end, rounded down: each bin has what is new since the one before. */
static void spread(const struct ft_timeline *timeline, struct ft_timeline_bin *bins, const struct sum *sum)
{
    uint64_t calls_before = 0, bytes_before = 0, time_before = 0;
    for (size_t bin = ft_timeline_bin_of(timeline, sum->start_ns); bin < timeline->count; bin++) {
        bool ends_here =
            bin + 1 == timeline->count || ft_timeline_bin_end(timeline, bin) - sum->start_ns >= sum->span_ns;
        int64_t until_ns = ends_here ? sum->span_ns : ft_timeline_bin_end(timeline, bin) - sum->start_ns;
        uint64_t calls = part_of(sum->calls, until_ns, sum->span_ns);
        uint64_t bytes = part_of(sum->bytes, until_ns, sum->span_ns);
        uint64_t time_ns = part_of(sum->time_ns, until_ns, sum->span_ns);
        add_part(&bins[bin], sum, calls - calls_before, bytes - bytes_before, time_ns - time_before);
        if (ends_here) {
            return;
        }
        calls_before = calls;
        bytes_before = bytes;
        time_before = time_ns;
    }
}

void ft_timeline_add_sums(const struct ft_timeline *timeline, struct ft_timeline_bin *bins, const struct ft_pass *pass,
                          size_t reader, const struct ft_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->kind[i] != FT_EVENT_CALL) {
            continue;
        }
        unsigned id = rows->call[i] < FT_TRACE_CALL_MAX ? rows->call[i] : 0;
        struct sum sum = {.mask = ft_pass_mask(pass, reader, rows, i) & FT_COUNT_IO,
                          .start_ns = ft_trace_set_realtime_ns(pass->set, reader, rows->start_ns[i]),
                          .span_ns = rows->size[i] > 0 ? rows->size[i] : 0,
                          .calls = rows->arg[i],
                          .bytes = rows->bytes[i],
                          .time_ns = (uint64_t)rows->dur_ns[i]};
        if (sum.mask) {
            unsigned stream = sum.mask & FT_COUNT_METADATA ? pass->calls[reader][id].stream : 0;
            sum.moved = (sum.mask & (FT_COUNT_READ | FT_COUNT_WRITE)) | stream;
            spread(timeline, bins, &sum);
        }
    }
}

/* Events that are chosen are all there. */
void ft_timeline_find_known(struct ft_timeline *timeline, const struct ft_trace_set *set, const struct ft_where *where)
{
    const struct ft_timeline_bin *total = &timeline->total;
    bool is_io_dropped = false;
    for (uint32_t p = 0; p < ft_trace_set_process_count(set); p++) {
        is_io_dropped |= ft_job_drops_io(set, p);
    }
    timeline->knows_spans =
        where || timeline->profiled > 0 || ft_trace_set_events(set) > 0 || ft_report_dropped(set) == 0;
    timeline->knows_io = where || total->read.calls + total->write.calls + total->metadata.calls > 0 ||
                         (timeline->knows_spans && !is_io_dropped);
}
