// SPDX-License-Identifier: MIT
#include "client/cli/analysis_scan_part.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_count.h"
#include "client/cli/cli.h"
#include "client/cli/report.h"
#include "proto/calls.h"

/* Times of a file are untrusted: kept where sums of them cannot overflow. */
#define TIME_MAX (INT64_C(1) << 61)

struct ft_scan_call (*ft_scan_make_calls(const struct ft_trace_set *set))[FT_TRACE_CALL_MAX]
{
    size_t readers = ft_trace_set_reader_count(set);
    struct ft_scan_call(*calls)[FT_TRACE_CALL_MAX] = ft_cli_alloc((readers ? readers : 1) * sizeof(*calls));
    for (size_t r = 0; r < readers; r++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(set, r);
        for (unsigned call = 0; call < FT_TRACE_CALL_MAX; call++) {
            const struct ft_trace_call *record = ft_trace_reader_call(reader, call);
            char room[32];
            const char *name = ft_report_call_name(reader, call, room, sizeof(room));
            unsigned group = record ? record->group : (unsigned)ft_call_group(call);
            calls[r][call] = (struct ft_scan_call){
                .group = (uint8_t)group,
                .kernel_sides = (uint8_t)ft_count_kernel_sides(name, group),
                .is_counted = ft_count_has_category(ft_report_call_category(reader, call)),
                .is_open = ft_count_is_open(name),
                .is_flush = ft_count_is_flush(ft_report_call_category(reader, call), group),
            };
        }
    }
    return calls;
}

void ft_scan_part_init(struct ft_scan_part *part, const struct ft_scan_work *work)
{
    memset(part, 0, sizeof(*part));
    part->work = work;
    if (work->parts & FT_SCAN_FILES) {
        part->files = ft_cli_alloc(work->file_count * sizeof(*part->files));
    }
    part->processes = ft_cli_alloc(work->process_count * sizeof(*part->processes));
    ft_map_init(&part->touched);
}

void ft_scan_part_fini(struct ft_scan_part *part)
{
    free(part->files);
    free(part->processes);
    ft_map_fini(&part->touched);
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        ft_intervals_fini(&part->lists[kind]);
    }
}

uint32_t ft_scan_part_columns(unsigned parts)
{
    uint32_t mask = FT_COL_DUR | FT_COL_CALL | FT_COL_FILE | FT_COL_FILE2;
    mask |= parts & FT_SCAN_UNIONS ? FT_COL_START | FT_COL_NAME : 0;
    mask |= parts & (FT_SCAN_FILES | FT_SCAN_PROCESSES) ? FT_COL_BYTES | FT_COL_ERR : 0;
    return mask;
}

static void touch(struct ft_scan_part *part, uint32_t file, uint32_t process)
{
    struct ft_file_sum *sum = &part->files[file];
    sum->events++;
    if (sum->last_process != process + 1 && process != FT_TRACE_SET_NONE) {
        uint32_t key[2] = {file, process};
        ft_map_intern(&part->touched, key, sizeof(key), 0, NULL);
        sum->last_process = process + 1;
    }
}

/* The index under which a file of the reader is counted. */
static uint32_t index_of(const struct ft_scan_part *part, size_t reader, uint32_t file)
{
    uint32_t at = ft_trace_set_file_of(part->work->set, reader, file);
    return at < part->work->file_count ? part->work->same[at] : FT_TRACE_SET_NONE;
}

struct row {
    const struct ft_scan_call *call;
    uint32_t file, file2, process;
    uint64_t bytes, time_ns;
    bool is_error;
};

static void add_to_file(struct ft_file_sum *sum, const struct row *row, unsigned group)
{
    sum->errors += row->is_error;
    sum->opens += row->call->is_open && !row->is_error;
    switch (group) {
    case FT_GROUP_READ:
        sum->reads++;
        sum->read_bytes += row->bytes;
        sum->read_time_ns += row->time_ns;
        break;
    case FT_GROUP_WRITE:
        sum->writes++;
        sum->written_bytes += row->bytes;
        sum->write_time_ns += row->time_ns;
        break;
    case FT_GROUP_METADATA:
    case FT_GROUP_MAP:
        sum->metadata++;
        sum->written_bytes += row->call->is_flush ? row->bytes : 0;
        sum->metadata_time_ns += row->time_ns;
        break;
    default:
        break;
    }
}

static void add_files(struct ft_scan_part *part, size_t reader, const struct row *row)
{
    bool is_transfer = row->call->group == FT_GROUP_TRANSFER;
    uint32_t file = row->file ? index_of(part, reader, row->file) : FT_TRACE_SET_NONE;
    uint32_t file2 = row->file2 ? index_of(part, reader, row->file2) : FT_TRACE_SET_NONE;
    if (file != FT_TRACE_SET_NONE) {
        touch(part, file, row->process);
        add_to_file(&part->files[file], row, is_transfer ? (unsigned)FT_GROUP_READ : row->call->group);
    }
    if (file2 != FT_TRACE_SET_NONE && file2 != file) {
        touch(part, file2, row->process);
    }
    if (file2 != FT_TRACE_SET_NONE && is_transfer) {
        add_to_file(&part->files[file2], row, FT_GROUP_WRITE);
    }
}

static void add_to_process(struct ft_scan_part *part, const struct ft_trace_reader *reader, const struct row *row,
                           unsigned mask)
{
    struct ft_process_sum *sum = &part->processes[row->process];
    sum->io_time_ns += mask & FT_COUNT_IO ? row->time_ns : 0;
    sum->read_bytes += mask & FT_COUNT_READ ? row->bytes : 0;
    bool is_written = mask & FT_COUNT_WRITE || (mask & FT_COUNT_METADATA && row->call->is_flush);
    unsigned sides = row->call->is_flush ? 1 : row->call->kernel_sides;
    sum->written_bytes += is_written ? row->bytes : 0;
    if (sides && row->bytes) {
        const struct ft_trace_file *file = ft_trace_reader_file(reader, row->file);
        bool is_memory = file && file->kind == FT_FILE_KIND_MEMORY;
        sum->kernel_like_bytes += is_memory ? 0 : sides * row->bytes;
    }
}

static int64_t clamp(int64_t time_ns)
{
    return time_ns > TIME_MAX ? TIME_MAX : time_ns < -TIME_MAX ? -TIME_MAX : time_ns;
}

static void add_interval(struct ft_scan_part *part, size_t reader, const struct ft_rows *rows, size_t i, int kind)
{
    int64_t start = clamp(ft_trace_set_realtime_ns(part->work->set, reader, clamp(rows->start_ns[i])));
    ft_intervals_add(&part->lists[kind], start, clamp(start + clamp(rows->dur_ns[i])));
}

static bool is_named(struct ft_bytes bytes, const char *name)
{
    return bytes.len == strlen(name) && memcmp(bytes.data, name, bytes.len) == 0;
}

static void add_span(struct ft_scan_part *part, size_t reader, const struct ft_rows *rows, size_t i)
{
    struct ft_bytes category = ft_trace_reader_name(ft_trace_set_reader(part->work->set, reader), rows->category[i]);
    add_interval(part, reader, rows, i, FT_SWEEP_APP);
    if (is_named(category, "compute")) {
        add_interval(part, reader, rows, i, FT_SWEEP_COMPUTE);
    } else if (is_named(category, "io") || is_named(category, "data")) {
        add_interval(part, reader, rows, i, FT_SWEEP_APP_IO);
    }
}

static void add_call(struct ft_scan_part *part, size_t reader, const struct ft_rows *rows, size_t i, uint32_t process)
{
    const struct ft_trace_reader *file_reader = ft_trace_set_reader(part->work->set, reader);
    unsigned call = rows->call[i] < FT_TRACE_CALL_MAX ? rows->call[i] : 0, parts = part->work->parts;
    struct row row = {.call = &part->work->calls[reader][call],
                      .file = rows->file[i],
                      .file2 = rows->file2[i],
                      .process = process,
                      .bytes = rows->bytes ? rows->bytes[i] : 0,
                      .time_ns = rows->dur_ns[i] > 0 ? (uint64_t)rows->dur_ns[i] : 0,
                      .is_error = rows->err && rows->err[i] != 0};
    unsigned mask = 0;
    if (row.call->is_counted) {
        mask = ft_count_of(row.call->group, ft_trace_reader_file_class(file_reader, row.file),
                           ft_trace_reader_file_class(file_reader, row.file2));
    }
    if (parts & FT_SCAN_FILES && (row.file | row.file2)) {
        add_files(part, reader, &row);
    }
    if (parts & FT_SCAN_PROCESSES && process != FT_TRACE_SET_NONE) {
        add_to_process(part, file_reader, &row, mask);
    }
    if (parts & FT_SCAN_UNIONS && mask & FT_COUNT_IO) {
        add_interval(part, reader, rows, i, FT_SWEEP_IO);
    }
}

void ft_scan_part_add(struct ft_scan_part *part, size_t reader, const struct ft_rows *rows)
{
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        part->lists[kind].count = 0;
    }
    for (size_t r = 0; r < rows->run_count; r++) {
        const struct ft_run *run = &rows->runs[r];
        uint32_t process = ft_trace_set_process_of_thread(part->work->set, reader, run->thread);
        if (process != FT_TRACE_SET_NONE) {
            part->processes[process].events += run->count;
        }
        for (size_t i = run->first; i < (size_t)run->first + run->count; i++) {
            if (rows->kind[i] == FT_EVENT_CALL) {
                add_call(part, reader, rows, i, process);
            } else if (rows->kind[i] == FT_EVENT_SPAN && part->work->parts & FT_SCAN_UNIONS) {
                add_span(part, reader, rows, i);
            }
        }
    }
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        ft_intervals_normalize(&part->lists[kind]);
    }
    part->rows += rows->count;
}
