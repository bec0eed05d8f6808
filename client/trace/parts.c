// SPDX-License-Identifier: MIT
/* The files themselves: where they are from, their clocks, what they do not hold, what is wrong with them. */
#include <errno.h>

#include "client/trace/impl.h"

#define GIVE(value) ft_library_give(out, out_bytes, &(value), sizeof(value))

int flowtap_trace_part_get(const struct flowtap_trace *trace, size_t part, struct flowtap_trace_part *out,
                           size_t out_bytes)
{
    if (part >= ft_trace_set_reader_count(trace->set)) {
        return -EINVAL;
    }
    const struct ft_trace_reader *reader = ft_trace_set_reader(trace->set, part);
    const struct ft_trace_header *header = ft_trace_reader_header(reader);
    size_t clocks;
    ft_trace_reader_clocks(reader, &clocks);
    struct flowtap_trace_part given = {
        .path = ft_library_text(FT_BYTES(ft_trace_reader_path(reader))),
        .boot_id = ft_library_text(header->boot_id),
        .user = ft_library_text(header->user),
        .job = ft_library_text(header->job.id),
        .workflow = ft_library_text(header->job.workflow),
        .writer = ft_library_text(header->writer),
        .host = ft_trace_set_reader_host(trace->set, part),
        .uid = header->uid,
        .number = header->part,
        .clock_count = (uint32_t)clocks,
        .is_partial = ft_trace_reader_is_partial(reader),
        .is_closed = ft_trace_reader_is_closed(reader),
        .bytes = ft_trace_reader_size(reader),
        .events = ft_trace_reader_events(reader),
        .created_ns = header->created_ns,
        .realtime_offset_ns = header->realtime_offset_ns,
        .clock_error_ns = header->clock_error_ns,
    };
    GIVE(given);
    return 0;
}

int flowtap_trace_clock_get(const struct flowtap_trace *trace, size_t part, size_t i, struct flowtap_trace_clock *out,
                            size_t out_bytes)
{
    if (part >= ft_trace_set_reader_count(trace->set)) {
        return -EINVAL;
    }
    size_t count;
    const struct ft_trace_clock *clocks = ft_trace_reader_clocks(ft_trace_set_reader(trace->set, part), &count);
    if (i >= count) {
        return -EINVAL;
    }
    struct flowtap_trace_clock given = {.time_ns = ft_trace_set_realtime_ns(trace->set, part, clocks[i].mono_ns),
                                        .realtime_offset_ns = clocks[i].realtime_offset_ns,
                                        .ticks = clocks[i].ticks};
    GIVE(given);
    return 0;
}

int flowtap_trace_gap_get(const struct flowtap_trace *trace, size_t gap, struct flowtap_trace_gap *out,
                          size_t out_bytes)
{
    if (gap >= trace->gap_count) {
        return -EINVAL;
    }
    size_t part = trace->gaps[gap].part, count;
    const struct ft_trace_gap *record =
        ft_trace_reader_gaps(ft_trace_set_reader(trace->set, part), &count) + trace->gaps[gap].gap;
    struct flowtap_trace_gap given = {
        .kind = ft_gap_name(record->kind),
        .host = ft_trace_set_reader_host(trace->set, part),
        .process = ft_trace_set_process_of(trace->set, part, record->process),
        .pid = record->pid,
        .count = record->count ? record->count : 1,
        .when_ns = record->when_ns ? ft_trace_set_realtime_ns(trace->set, part, record->when_ns) : 0,
        .exe = ft_library_text(record->exe),
        .reason = ft_library_text(record->reason)};
    GIVE(given);
    return 0;
}

static int get_absent(const struct flowtap_trace *trace, size_t problem, struct flowtap_trace_problem *out,
                      size_t out_bytes)
{
    size_t unreadable_count, left_out_count;
    const struct ft_trace_set_unreadable *unreadable = ft_trace_set_unreadable(trace->set, &unreadable_count);
    const struct ft_trace_set_left_out *left_out = ft_trace_set_left_out(trace->set, &left_out_count);
    struct flowtap_trace_problem given = {.count = 1, .is_damage = 1};
    if (problem < unreadable_count) {
        given.path = ft_library_text(FT_BYTES(unreadable[problem].path));
        given.text = unreadable[problem].error == -EBADMSG ? "the file cannot be read as a trace"
                                                           : ft_trace_set_unreadable_text(unreadable[problem].error);
    } else if (problem - unreadable_count < left_out_count) {
        const struct ft_trace_set_left_out *one = &left_out[problem - unreadable_count];
        given.path = ft_library_text(FT_BYTES(one->path));
        given.text = one->copy_of ? "a copy of another file, which alone is read"
                                  : "the file's clock is lost with its header; it is left out beside others";
        given.is_damage = !one->copy_of;
    } else {
        return -EINVAL;
    }
    GIVE(given);
    return 0;
}

/* Those of the parts, then the files that could not be read, then those that were left out. */
int flowtap_trace_problem_get(const struct flowtap_trace *trace, size_t problem, struct flowtap_trace_problem *out,
                              size_t out_bytes)
{
    for (size_t r = 0; r < ft_trace_set_reader_count(trace->set); r++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(trace->set, r);
        size_t count;
        const struct ft_trace_problem *problems = ft_trace_reader_problems(reader, &count);
        if (problem < count) {
            const struct ft_trace_problem *record = &problems[problem];
            struct flowtap_trace_problem given = {.path = ft_library_text(FT_BYTES(ft_trace_reader_path(reader))),
                                                  .text = ft_problem_text(record->kind),
                                                  .is_damage = ft_problem_is_damage(record->kind),
                                                  .offset = record->offset,
                                                  .length = record->length,
                                                  .count = record->count ? record->count : 1};
            GIVE(given);
            return 0;
        }
        problem -= count;
    }
    return get_absent(trace, problem, out, out_bytes);
}
