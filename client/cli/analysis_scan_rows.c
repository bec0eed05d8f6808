// SPDX-License-Identifier: MIT
/* The rows of a run: what each adds to its files, its process, the unions over time and the order of accesses. */
#include <string.h>

#include "client/cli/analysis_count.h"
#include "client/cli/analysis_scan_part.h"
#include "client/cli/analysis_spans.h"
#include "client/cli/cli.h"

/* Times of a file are untrusted: kept where sums of them cannot overflow. */
#define TIME_MAX (INT64_C(1) << 61)

/* What both masks call the same. */
#define MOVED (FT_PACKED_READ | FT_PACKED_WRITE)
_Static_assert((int)FT_COUNT_READ == (int)FT_PACKED_READ && (int)FT_COUNT_WRITE == (int)FT_PACKED_WRITE, "moved");

static int64_t clamp(int64_t time_ns)
{
    return time_ns > TIME_MAX ? TIME_MAX : time_ns < -TIME_MAX ? -TIME_MAX : time_ns;
}

int64_t ft_scan_part_realtime(const struct ft_scan_part *part, int64_t mono_ns)
{
    return clamp(mono_ns + part->realtime_offset_ns);
}

static void add_span(struct ft_scan_part *part, const struct ft_rows *rows, size_t i)
{
    unsigned sweeps = ft_spans_sweeps(ft_trace_reader_name(part->reader, rows->category[i]));
    int64_t start = ft_scan_part_realtime(part, rows->start_ns[i]), end = clamp(start + rows->dur_ns[i]);
    for (; sweeps != 0; sweeps &= sweeps - 1) {
        ft_busy_add_span(&part->busy, (enum ft_sweep_kind)__builtin_ctz(sweeps), start, end);
    }
}

static struct ft_scan_file *file_at(struct ft_scan_part *part, uint32_t id)
{
    uint32_t at = ft_scan_files_at(&part->files, id); /* which may move the items */
    return &part->files.items[at];
}

/* Most files have one path, and their entries are far away. */
static void mark_path(struct ft_scan_part *part, uint32_t id, bool is_removed, int64_t ts_ns)
{
    const struct ft_scan_file *file = file_at(part, id);
    if (file->has_path_id) {
        uint32_t path_id = part->work->entries->items[file->entry].path_id;
        struct ft_reuse_mark mark = {.path_id = path_id, .is_removed = is_removed, .ts_ns = ts_ns};
        ft_reuse_marks_add(&part->marks, mark);
    }
}

/* A call that succeeded in removing, renaming or linking a file. */
static void note_names(struct ft_scan_part *part, unsigned reuse, uint32_t file, uint32_t file2, int64_t mono_ns)
{
    int64_t ts_ns = ft_scan_part_realtime(part, mono_ns);
    if (reuse == FT_REUSE_UNLINK) {
        mark_path(part, file, true, ts_ns);
        return;
    }
    if (reuse == FT_REUSE_RENAME) {
        mark_path(part, file2, true, ts_ns);
    }
    mark_path(part, file2, false, ts_ns);
}

static void keep_touched(struct ft_scan_part *part, const struct ft_scan_file *file)
{
    if (file->entry == FT_ENTRY_NONE) {
        return;
    }
    if (part->run_file_count == part->run_file_space) {
        part->run_file_space = part->run_file_space ? part->run_file_space * 2 : 256;
        part->run_files = ft_cli_realloc(part->run_files, part->run_file_space, sizeof(*part->run_files));
    }
    part->run_files[part->run_file_count++] = file->entry;
}

/* The first time in this run, which is in order of start. */
static void touch(struct ft_scan_part *part, struct ft_scan_file *file, int64_t start_ns)
{
    file->first_ns = start_ns < file->first_ns ? start_ns : file->first_ns;
    file->run = part->run;
    if (file->second_run != part->run) {
        keep_touched(part, file);
    }
}

/* The second file of a call. Its class. */
static unsigned add_second(struct ft_scan_part *part, const struct ft_rows *rows, size_t i, uint32_t entry)
{
    struct ft_scan_file *file = file_at(part, rows->file2[i]);
    if (file->entry != entry) {
        file->events++;
        if (file->run != part->run && file->second_run != part->run) {
            keep_touched(part, file);
        }
        file->second_run = part->run;
    }
    if (part->calls[rows->call[i]].is_transfer) {
        struct ft_scan_moved *moved = ft_scan_files_moved(&part->files, file);
        file->errors += rows->err[i] != 0;
        moved->count[FT_SIDE_WRITE]++;
        moved->bytes[FT_SIDE_WRITE] += rows->bytes[i];
        moved->time_ns[FT_SIDE_WRITE] += (uint64_t)rows->dur_ns[i];
    }
    return file->file_class;
}

static void add_long(struct ft_scan_part *part, int64_t start_ns, int64_t dur_ns, unsigned mask)
{
    int64_t start = ft_scan_part_realtime(part, start_ns);
    ft_busy_add_long(&part->busy, start, clamp(start + dur_ns), mask & MOVED);
}

static inline __attribute__((always_inline)) void add_busy(struct ft_scan_part *part, struct ft_busy_writer *writer,
                                                           int64_t start_ns, int64_t dur_ns, bool is_io, unsigned moved)
{
    uint64_t start = (uint64_t)start_ns - (uint64_t)part->base_ns;
    bool is_wanted = is_io & (dur_ns > 0);
    if (__builtin_expect(ft_packed_fits(writer->form, start, (uint64_t)dur_ns), true)) {
        ft_busy_add(writer, start, (uint64_t)dur_ns, moved, is_wanted);
    } else if (is_wanted) {
        add_long(part, start_ns, dur_ns, moved);
    }
}

static inline void add_access(struct ft_scan_part *part, const struct ft_rows *rows, size_t i, bool is_write,
                              uint32_t entry)
{
    uint64_t offset = (uint64_t)rows->offset[i];
    if (rows->err[i] == 0 && rows->has[i] & FT_HAS_OFFSET) {
        ft_access_run_add(&part->accesses[part->access_count], &part->access_counts, entry, is_write, offset,
                          offset + rows->bytes[i]);
    }
}

/* What is added up along a run: in the loop's own variables, which no store to the part can change. */
struct run {
    struct ft_process_sum sum;
    struct ft_busy_writer writer;
    uint32_t number;
    bool has_access;
};

/* What moves data, or may. */
static inline __attribute__((always_inline)) void add_move(struct ft_scan_part *part, const struct ft_rows *rows,
                                                           size_t i, struct ft_scan_file *file,
                                                           const struct ft_scan_effect *effect, struct run *run)
{
    struct ft_scan_moved *moved = ft_scan_files_moved(&part->files, file);
    struct ft_process_sum *sum = &run->sum;
    uint64_t bytes = rows->bytes[i];
    moved->count[effect->side]++;
    moved->time_ns[effect->side] += (uint64_t)rows->dur_ns[i];
    moved->bytes[effect->bytes_side] += bytes;
    sum->read_bytes += effect->moved & FT_COUNT_READ ? bytes : 0;
    sum->written_bytes += effect->moved & FT_COUNT_WRITE ? bytes : 0;
    sum->kernel_like_bytes += effect->kernel_sides * bytes;
    add_busy(part, &run->writer, rows->start_ns[i], rows->dur_ns[i], effect->flags & FT_SCAN_IS_IO,
             effect->mask & MOVED);
    if (run->has_access && effect->flags & FT_SCAN_IS_REQUEST && file->entry != FT_ENTRY_NONE) {
        add_access(part, rows, i, effect->mask == FT_COUNT_WRITE, file->entry);
    }
}

static inline __attribute__((always_inline)) void add_row(struct ft_scan_part *part, const struct ft_rows *rows,
                                                          size_t i, struct ft_scan_file *file,
                                                          const struct ft_scan_effect *effect, struct run *run)
{
    uint64_t time_ns = (uint64_t)rows->dur_ns[i];
    unsigned flags = effect->flags;
    bool is_error = rows->err[i] != 0, is_io = flags & FT_SCAN_IS_IO;
    if (file->run != run->number) {
        touch(part, file, rows->start_ns[i]);
    }
    file->events++;
    file->errors += is_error;
    file->opens += (flags & FT_SCAN_IS_OPEN) != 0 && !is_error;
    file->metadata += (flags & FT_SCAN_IS_METADATA) != 0;
    file->metadata_time_ns += flags & FT_SCAN_IS_METADATA ? time_ns : 0;
    run->sum.io_time_ns += is_io ? time_ns : 0;
    if (flags & FT_SCAN_IS_MOVE) {
        add_move(part, rows, i, file, effect, run);
    } else {
        add_busy(part, &run->writer, rows->start_ns[i], rows->dur_ns[i], is_io, 0);
    }
}

/* A call with a second file, whose class has a say in what it adds to. */
static __attribute__((noinline)) void add_pair(struct ft_scan_part *part, const struct ft_rows *rows, size_t i,
                                               struct run *run)
{
    const struct ft_scan_call *call = &part->calls[rows->call[i]];
    uint32_t at = part->file_at[i];
    unsigned second = add_second(part, rows, i, part->files.items[at].entry);
    struct ft_scan_file *file = &part->files.items[at];
    struct ft_scan_effect effect = ft_scan_effect_of(call, file->file_class, second, file->is_memory);
    add_row(part, rows, i, file, &effect, run);
    if (call->reuse != FT_REUSE_NONE && rows->err[i] == 0) {
        note_names(part, call->reuse, rows->file[i], rows->file2[i], rows->start_ns[i]);
    }
}

/* Rows that are not calls with one file. */
static inline __attribute__((always_inline)) void add_other(struct ft_scan_part *part, const struct ft_rows *rows,
                                                            size_t i, struct run *run)
{
    if (rows->kind[i] == FT_EVENT_CALL) {
        struct run own = *run; /* in memory while it is written; theirs can be in registers */
        add_pair(part, rows, i, &own);
        *run = own;
    } else if (rows->kind[i] == FT_EVENT_SPAN && rows->category) {
        add_span(part, rows, i);
    }
}

void ft_scan_rows_add(struct ft_scan_part *part, const struct ft_rows *of_block, const struct ft_run *which,
                      struct ft_process_sum *sum)
{
    const struct ft_rows own = *of_block, *rows = &own;
    const struct ft_scan_effect(*effects)[FT_TRACE_CALL_MAX] = part->effects;
    const uint32_t *file_at = part->file_at;
    struct ft_scan_file *files = part->files.items;
    struct run run = {
        .writer = part->busy.writer, .number = part->run, .has_access = part->work->parts & FT_SCAN_ACCESS};
    for (size_t i = which->first, last = i + which->count; i < last; i++) {
        __builtin_prefetch(&files[file_at[i + FT_SCAN_AHEAD]]);
        if (__builtin_expect((rows->kind[i] | rows->file2[i]) != 0, false)) {
            add_other(part, rows, i, &run);
            files = part->files.items;
            continue;
        }
        struct ft_scan_file *file = &files[file_at[i]];
        const struct ft_scan_effect *effect = &effects[file->variant][rows->call[i]];
        add_row(part, rows, i, file, effect, &run);
        if (effect->flags & FT_SCAN_IS_NAMING && rows->err[i] == 0) {
            note_names(part, part->calls[rows->call[i]].reuse, rows->file[i], 0, rows->start_ns[i]);
            files = part->files.items;
        }
    }
    part->busy.writer = run.writer;
    ft_process_sum_add(sum, &run.sum);
}
