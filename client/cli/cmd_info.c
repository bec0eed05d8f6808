// SPDX-License-Identifier: MIT
/* flowtap info: the files themselves. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "client/cli/cli.h"
#include "client/cli/report.h"
#include "client/cli/table.h"
#include "client/cli/units.h"
#include "proto/frame.h"

struct values {
    bool as_json;
};

static const struct ft_option options[] = {
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document", offsetof(struct values, as_json), NULL},
};

static double bytes_per_event(uint64_t bytes, uint64_t events)
{
    return events ? (double)bytes / (double)events : 0;
}

static void put_frames(struct ft_json *json, const struct ft_trace_reader *reader)
{
    struct ft_trace_frames frames[FT_TRACE_FRAME_KINDS];
    ft_trace_reader_frames(reader, frames);
    ft_json_key(json, "frames");
    ft_json_begin_object(json);
    for (unsigned kind = 0; kind < FT_TRACE_FRAME_KINDS; kind++) {
        ft_json_key(json, ft_frame_kind_name(kind));
        ft_json_begin_object(json);
        ft_json_member_uint(json, "count", frames[kind].count);
        ft_json_member_uint(json, "bytes", frames[kind].bytes);
        ft_json_end_object(json);
    }
    ft_json_end_object(json);
}

static void put_header(struct ft_json *json, const struct ft_trace_header *header)
{
    char version[32];
    snprintf(version, sizeof(version), "%u.%u", header->major, header->minor);
    ft_json_member_string(json, "format", version);
    ft_report_json_bytes(json, "writer", header->writer);
    ft_report_json_bytes(json, "host", header->host);
    ft_report_json_bytes(json, "boot_id", header->boot_id);
    ft_json_member_uint(json, "part", header->part);
    ft_json_member_uint(json, "uid", header->uid);
    ft_report_json_bytes(json, "user", header->user);
    ft_report_json_bytes(json, "job", header->job.id);
    ft_json_member_string(json, "job_source", ft_job_source_name(header->job.source));
    ft_report_json_bytes(json, "workflow", header->job.workflow);
    ft_json_member_seconds(json, "created", header->created_ns);
    ft_json_member_int(json, "realtime_offset_ns", header->realtime_offset_ns);
    ft_json_member_uint(json, "clock_error_ns", header->clock_error_ns);
}

static void put_problems(struct ft_json *json, const struct ft_trace_reader *reader)
{
    size_t count;
    const struct ft_trace_problem *problems = ft_trace_reader_problems(reader, &count);
    ft_json_key(json, "problems");
    ft_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        ft_report_json_problem(json, &problems[i]);
    }
    ft_json_end_array(json);
}

static void put_file(struct ft_json *json, const struct ft_trace_reader *reader)
{
    size_t blocks;
    uint64_t bytes = ft_trace_reader_size(reader), events = ft_trace_reader_events(reader);
    const char *path = ft_trace_reader_path(reader);
    ft_trace_reader_blocks(reader, &blocks);
    ft_json_begin_object(json);
    ft_json_member_text(json, "path", path, strlen(path));
    ft_json_member_uint(json, "bytes", bytes);
    ft_json_member_uint(json, "events", events);
    ft_json_member_double(json, "bytes_per_event", bytes_per_event(bytes, events));
    ft_json_member_uint(json, "blocks", blocks);
    put_header(json, ft_trace_reader_header(reader));
    put_frames(json, reader);
    ft_json_member_uint(json, "names", ft_trace_reader_name_max(reader));
    ft_json_member_uint(json, "files", ft_trace_reader_file_max(reader));
    ft_json_member_uint(json, "processes", ft_trace_reader_process_max(reader));
    ft_json_member_uint(json, "threads", ft_trace_reader_thread_max(reader));
    ft_json_member_uint(json, "contexts", ft_trace_reader_context_max(reader));
    ft_json_member_bool(json, "closed", ft_trace_reader_is_closed(reader));
    ft_json_member_bool(json, "partial", ft_trace_reader_is_partial(reader));
    put_problems(json, reader);
    ft_json_end_object(json);
}

static void print_json(const struct ft_trace_set *set)
{
    struct ft_json json;
    uint64_t bytes = ft_trace_set_bytes(set), events = ft_trace_set_events(set);
    ft_json_init(&json, stdout, true);
    ft_json_begin_object(&json);
    ft_json_member_uint(&json, "bytes", bytes);
    ft_json_member_uint(&json, "events", events);
    ft_json_member_double(&json, "bytes_per_event", bytes_per_event(bytes, events));
    ft_json_key(&json, "files");
    ft_json_begin_array(&json);
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        put_file(&json, ft_trace_set_reader(set, r));
    }
    ft_json_end_array(&json);
    ft_json_member_bool(&json, "partial", ft_trace_set_is_partial(set));
    ft_json_end_object(&json);
    ft_json_end_line(&json);
    ft_json_flush(&json);
}

static void print_header(const struct ft_screen *screen, const struct ft_trace_reader *reader)
{
    const struct ft_trace_header *header = ft_trace_reader_header(reader);
    struct ft_unit_text text;
    char when[64] = "unknown";
    time_t created = (time_t)(header->created_ns / 1000000000);
    struct tm parts;
    if (header->created_ns > 0 && localtime_r(&created, &parts)) {
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %z", &parts);
    }
    ft_screen_print_names(screen, FT_STYLE_NONE, "  format      %u.%u, written by %.*s", header->major, header->minor,
                          (int)header->writer.len, header->writer.len ? header->writer.data : "");
    fputc('\n', screen->out);
    ft_screen_print_names(screen, FT_STYLE_NONE, "  host        %.*s, boot %.*s, part %u", (int)header->host.len,
                          header->host.len ? header->host.data : "", (int)header->boot_id.len,
                          header->boot_id.len ? header->boot_id.data : "", header->part);
    fputc('\n', screen->out);
    ft_screen_print_names(screen, FT_STYLE_NONE, "  job         %.*s (%s), user %.*s", (int)header->job.id.len,
                          header->job.id.len ? header->job.id.data : "", ft_job_source_name(header->job.source),
                          (int)header->user.len, header->user.len ? header->user.data : "");
    fputc('\n', screen->out);
    fprintf(screen->out, "  created     %s\n", when);
    fprintf(screen->out, "  clock       times are right within %s\n",
            ft_units_time(&text, header->clock_error_ns > INT64_MAX ? INT64_MAX : (int64_t)header->clock_error_ns));
}

static void print_sizes(const struct ft_screen *screen, const struct ft_trace_reader *reader)
{
    struct ft_trace_frames frames[FT_TRACE_FRAME_KINDS];
    struct ft_unit_text bytes, count;
    uint64_t events = ft_trace_reader_events(reader);
    ft_trace_reader_frames(reader, frames);
    fprintf(screen->out, "  size        %s, %s", ft_units_bytes(&bytes, ft_trace_reader_size(reader)),
            ft_units_counted(&count, events, "event", "events"));
    if (events) {
        fprintf(screen->out, ", %.2f bytes an event", bytes_per_event(ft_trace_reader_size(reader), events));
    }
    fprintf(screen->out, "\n  tables      processes %u, threads %u, files %u, names %u\n",
            ft_trace_reader_process_max(reader), ft_trace_reader_thread_max(reader), ft_trace_reader_file_max(reader),
            ft_trace_reader_name_max(reader));
    for (unsigned kind = 0; kind < FT_TRACE_FRAME_KINDS; kind++) {
        if (frames[kind].count) {
            fprintf(screen->out, "  frames      %s %s, %s\n", ft_units_count(&count, frames[kind].count),
                    ft_frame_kind_name(kind), ft_units_bytes(&bytes, frames[kind].bytes));
        }
    }
}

static void print_text(const struct ft_trace_set *set)
{
    struct ft_screen screen;
    ft_screen_init(&screen, stdout);
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(set, r);
        size_t count;
        const struct ft_trace_problem *problems = ft_trace_reader_problems(reader, &count);
        ft_screen_print_names(&screen, FT_STYLE_TITLE, "%s", ft_trace_reader_path(reader));
        fputc('\n', screen.out);
        print_header(&screen, reader);
        print_sizes(&screen, reader);
        for (size_t i = 0; i < count; i++) {
            ft_report_print_problem(&screen, &problems[i]);
        }
    }
    if (ft_trace_set_reader_count(set) > 1) {
        struct ft_unit_text bytes, events;
        fprintf(screen.out, "all together %s, %s events, %.2f bytes an event\n",
                ft_units_bytes(&bytes, ft_trace_set_bytes(set)), ft_units_count(&events, ft_trace_set_events(set)),
                bytes_per_event(ft_trace_set_bytes(set), ft_trace_set_events(set)));
    }
}

static int run(const void *values_untyped, const struct ft_strings *operands)
{
    const struct values *values = values_untyped;
    struct ft_trace_set *set;
    if (ft_report_open(operands, &set) != FT_STATUS_DONE) {
        return FT_STATUS_FAILED;
    }
    values->as_json ? print_json(set) : print_text(set);
    ft_trace_set_close(set);
    return ft_cli_finish_output(FT_STATUS_DONE);
}

const struct ft_command ft_command_info = {
    .name = "info",
    .summary = "the files themselves: frames, sizes",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    FT_COMMAND_READS_TRACES,
    .values_bytes = sizeof(struct values),
    .run = run,
};
