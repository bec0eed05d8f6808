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

/* Rows ahead whose file is fetched into the cache. */
enum { AHEAD = 12 };

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
                .reuse = (uint8_t)ft_reuse_kind_of(name),
                .is_open = ft_count_is_open(name),
                .stream = (uint8_t)ft_count_of_stream(name, ft_report_call_category(reader, call), group),
            };
        }
    }
    return calls;
}

void ft_scan_part_init(struct ft_scan_part *part, struct ft_scan_work *work)
{
    memset(part, 0, sizeof(*part));
    part->work = work;
    part->processes = ft_cli_alloc(work->process_count * sizeof(*part->processes));
}

void ft_scan_part_fini(struct ft_scan_part *part)
{
    ft_scan_files_fini(&part->files);
    free(part->run_files);
    free(part->processes);
    ft_reuse_marks_fini(&part->marks);
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        ft_intervals_fini(&part->lists[kind]);
    }
}

uint32_t ft_scan_part_columns(unsigned parts)
{
    uint32_t mask = FT_COL_DUR | FT_COL_CALL | FT_COL_FILE | FT_COL_FILE2;
    mask |= parts & (FT_SCAN_UNIONS | FT_SCAN_FILES) ? FT_COL_START : 0;
    mask |= parts & FT_SCAN_UNIONS ? FT_COL_NAME : 0;
    mask |= parts & (FT_SCAN_FILES | FT_SCAN_PROCESSES) ? FT_COL_BYTES | FT_COL_ERR : 0;
    return mask;
}

static int64_t clamp(int64_t time_ns)
{
    return time_ns > TIME_MAX ? TIME_MAX : time_ns < -TIME_MAX ? -TIME_MAX : time_ns;
}

static int64_t realtime_of(const struct ft_scan_part *part, int64_t mono_ns)
{
    return clamp(clamp(mono_ns) + part->realtime_offset_ns);
}

static struct ft_entry_ref ref_of(const struct ft_scan_part *part, uint32_t file_id)
{
    if (file_id <= part->file_max) {
        return part->refs[file_id];
    }
    return (struct ft_entry_ref){.entry = FT_ENTRY_NONE, .file_class = FT_FILE_CLASS_UNKNOWN};
}

static struct ft_file_sum *touch(struct ft_scan_part *part, uint32_t entry)
{
    const struct ft_scan_batch *batch = &part->batch;
    struct ft_scan_file *file = ft_scan_files_get(&part->files, entry);
    file->sum.events += batch->count;
    if (file->run != part->run && batch->process != FT_TRACE_SET_NONE) {
        if (part->run_file_count == part->run_file_space) {
            part->run_file_space = part->run_file_space ? part->run_file_space * 2 : 256;
            part->run_files = ft_cli_realloc(part->run_files, part->run_file_space, sizeof(*part->run_files));
        }
        part->run_files[part->run_file_count++] = entry;
        file->run = part->run;
    }
    return &file->sum;
}

static void add_to_file(struct ft_file_sum *sum, const struct ft_scan_batch *batch, unsigned group)
{
    sum->errors += batch->errors;
    sum->opens += batch->call->is_open ? batch->count - batch->errors : 0;
    switch (group) {
    case FT_GROUP_READ:
        sum->reads += batch->count;
        sum->read_bytes += batch->bytes;
        sum->read_time_ns += batch->time_ns;
        break;
    case FT_GROUP_WRITE:
        sum->writes += batch->count;
        sum->written_bytes += batch->bytes;
        sum->write_time_ns += batch->time_ns;
        break;
    case FT_GROUP_METADATA:
    case FT_GROUP_MAP:
        sum->metadata += batch->count;
        sum->read_bytes += batch->call->stream & FT_COUNT_READ ? batch->bytes : 0;
        sum->written_bytes += batch->call->stream & FT_COUNT_WRITE ? batch->bytes : 0;
        sum->metadata_time_ns += batch->time_ns;
        break;
    default:
        break;
    }
}

static void add_files(struct ft_scan_part *part)
{
    const struct ft_scan_batch *batch = &part->batch;
    bool is_transfer = batch->call->group == FT_GROUP_TRANSFER;
    if (batch->file != FT_ENTRY_NONE) {
        struct ft_file_sum *sum = touch(part, batch->file);
        sum->first_ns = batch->is_identified && batch->first_ns < sum->first_ns ? batch->first_ns : sum->first_ns;
        add_to_file(sum, batch, is_transfer ? (unsigned)FT_GROUP_READ : batch->call->group);
    }
    if (batch->file2 != FT_ENTRY_NONE && batch->file2 != batch->file) {
        touch(part, batch->file2);
    }
    if (batch->file2 != FT_ENTRY_NONE && is_transfer) {
        add_to_file(&ft_scan_files_get(&part->files, batch->file2)->sum, batch, FT_GROUP_WRITE);
    }
}

static void add_to_process(struct ft_process_sum *sum, const struct ft_scan_batch *batch)
{
    unsigned mask = batch->mask;
    unsigned moved = mask | (mask & FT_COUNT_METADATA ? batch->call->stream : 0u);
    unsigned sides = batch->is_memory ? 0 : batch->call->stream ? 1 : batch->call->kernel_sides;
    sum->io_time_ns += mask & FT_COUNT_IO ? batch->time_ns : 0;
    sum->read_bytes += moved & FT_COUNT_READ ? batch->bytes : 0;
    sum->written_bytes += moved & FT_COUNT_WRITE ? batch->bytes : 0;
    sum->kernel_like_bytes += sides * batch->bytes;
}

static void end_batch(struct ft_scan_part *part)
{
    const struct ft_scan_batch *batch = &part->batch;
    if (part->work->parts & FT_SCAN_FILES) {
        add_files(part);
    }
    if (part->work->parts & FT_SCAN_PROCESSES && batch->process != FT_TRACE_SET_NONE) {
        add_to_process(&part->processes[batch->process], batch);
    }
}

static void begin_batch(struct ft_scan_part *part, const struct ft_rows *rows, size_t i, uint32_t process)
{
    unsigned call = rows->call[i] < FT_TRACE_CALL_MAX ? rows->call[i] : 0;
    struct ft_entry_ref ref = ref_of(part, rows->file[i]), ref2 = ref_of(part, rows->file2[i]);
    part->batch = (struct ft_scan_batch){.call = &part->work->calls[part->reader_index][call],
                                         .file = ref.entry,
                                         .file2 = ref2.entry,
                                         .process = process,
                                         .first_ns = rows->start_ns ? realtime_of(part, rows->start_ns[i]) : 0,
                                         .is_identified = ref.is_identified,
                                         .is_memory = ref.is_memory};
    if (part->batch.call->is_counted) {
        part->batch.mask = ft_count_of(part->batch.call->group, ref.file_class, ref2.file_class);
    }
}

static inline __attribute__((always_inline)) void add_interval(struct ft_scan_part *part, const struct ft_rows *rows,
                                                               size_t i, int kind)
{
    int64_t start = realtime_of(part, rows->start_ns[i]);
    ft_intervals_add(&part->lists[kind], start, clamp(start + clamp(rows->dur_ns[i])));
}

static bool is_named(struct ft_bytes bytes, const char *name)
{
    return bytes.len == strlen(name) && memcmp(bytes.data, name, bytes.len) == 0;
}

static void add_span(struct ft_scan_part *part, const struct ft_rows *rows, size_t i)
{
    struct ft_bytes category = ft_trace_reader_name(part->reader, rows->category[i]);
    add_interval(part, rows, i, FT_SWEEP_APP);
    if (is_named(category, "compute")) {
        add_interval(part, rows, i, FT_SWEEP_COMPUTE);
    } else if (is_named(category, "io") || is_named(category, "data")) {
        add_interval(part, rows, i, FT_SWEEP_APP_IO);
    }
}

static void mark_path(struct ft_scan_part *part, uint32_t entry, bool is_removed, int64_t ts_ns)
{
    uint32_t path_id = entry == FT_ENTRY_NONE ? FT_ENTRY_NONE : part->work->entries->items[entry].path_id;
    if (path_id != FT_ENTRY_NONE) {
        struct ft_reuse_mark mark = {.path_id = path_id, .is_removed = is_removed, .ts_ns = ts_ns};
        ft_reuse_marks_add(&part->marks, mark);
    }
}

/* A call that succeeded in removing, renaming or linking a file. */
static void note_names(struct ft_scan_part *part, int64_t ts_ns)
{
    const struct ft_scan_batch *batch = &part->batch;
    if (batch->call->reuse == FT_REUSE_UNLINK) {
        mark_path(part, batch->file, true, ts_ns);
        return;
    }
    if (batch->call->reuse == FT_REUSE_RENAME) {
        mark_path(part, batch->file2, true, ts_ns);
    }
    mark_path(part, batch->file2, false, ts_ns);
}

/* End of the rows from i on that have the same call and files. */
static size_t batch_end(const struct ft_rows *rows, size_t i, size_t last)
{
    size_t end = i + 1;
    while (end < last && rows->call[end] == rows->call[i] && rows->file[end] == rows->file[i] &&
           rows->file2[end] == rows->file2[i] && rows->kind[end] == FT_EVENT_CALL) {
        end++;
    }
    return end;
}

/* Rows [i, end) of one call and file. */
static void add_calls(struct ft_scan_part *part, const struct ft_rows *rows, size_t i, size_t end, uint32_t process)
{
    struct ft_scan_batch *batch = &part->batch;
    uint64_t time_ns = 0, bytes = 0, errors = 0;
    begin_batch(part, rows, i, process);
    if (batch->mask & FT_COUNT_IO && part->work->parts & FT_SCAN_UNIONS) {
        for (size_t k = i; k < end; k++) {
            add_interval(part, rows, k, FT_SWEEP_IO);
        }
    }
    if (batch->call->reuse != FT_REUSE_NONE && part->work->parts & FT_SCAN_FILES) {
        for (size_t k = i; k < end; k++) {
            if (rows->err[k] == 0) {
                note_names(part, realtime_of(part, rows->start_ns[k]));
            }
        }
    }
    for (size_t k = i; k < end; k++) {
        time_ns += rows->dur_ns[k] > 0 ? (uint64_t)rows->dur_ns[k] : 0;
    }
    for (size_t k = i; rows->bytes && k < end; k++) {
        bytes += rows->bytes[k];
        errors += rows->err[k] != 0;
    }
    batch->count = end - i;
    batch->time_ns = time_ns;
    batch->bytes = bytes;
    batch->errors = errors;
    end_batch(part);
}

static void begin_block(struct ft_scan_part *part, size_t reader)
{
    part->reader = ft_trace_set_reader(part->work->set, reader);
    part->reader_index = reader;
    part->refs = part->work->entries->of[reader];
    part->file_max = ft_trace_reader_file_max(part->reader);
    part->run = 0;
    ft_scan_files_clear(&part->files);
    part->realtime_offset_ns = clamp(ft_trace_set_realtime_ns(part->work->set, reader, 0));
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        part->lists[kind].count = 0;
    }
}

static void add_run(struct ft_scan_part *part, const struct ft_rows *rows, const struct ft_run *run)
{
    uint32_t process = ft_trace_set_process_of_thread(part->work->set, part->reader_index, run->thread);
    if (process != FT_TRACE_SET_NONE) {
        part->processes[process].events += run->count;
    }
    part->run++;
    part->run_file_count = 0;
    for (size_t i = run->first, last = i + run->count, next; i < last; i = next) {
        next = i + 1;
        if (i + AHEAD < rows->count && rows->file[i + AHEAD] <= part->file_max) {
            __builtin_prefetch(&part->refs[rows->file[i + AHEAD]]);
        }
        if (rows->kind[i] == FT_EVENT_CALL) {
            next = batch_end(rows, i, last);
            add_calls(part, rows, i, next, process);
        } else if (rows->kind[i] == FT_EVENT_SPAN && part->work->parts & FT_SCAN_UNIONS) {
            add_span(part, rows, i);
        }
    }
    if (part->run_file_count > 0) {
        ft_touched_add(&part->work->touched, process, part->run_files, part->run_file_count);
    }
}

void ft_scan_part_add(struct ft_scan_part *part, size_t reader, const struct ft_rows *rows)
{
    begin_block(part, reader);
    for (size_t r = 0; r < rows->run_count; r++) {
        add_run(part, rows, &rows->runs[r]);
    }
    if (part->files.count > 0) {
        pthread_mutex_lock(&part->work->files_lock);
        ft_scan_files_add_to(&part->files, part->work->files);
        pthread_mutex_unlock(&part->work->files_lock);
    }
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        ft_intervals_normalize(&part->lists[kind]);
    }
    part->rows += rows->count;
}
