// SPDX-License-Identifier: MIT
#include "client/cli/analysis_scan_part.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_count.h"
#include "client/cli/cli.h"
#include "proto/calls.h"

/* Times of a file are untrusted: kept where sums of them, and FT_BUSY_BITS more, cannot overflow. */
#define TIME_MAX (INT64_C(1) << 61)
#define BLOCK_TIME_MAX (INT64_C(1) << 59)

/* Rows ahead whose file is fetched into the cache: where it stands, then the item itself. */
enum { AHEAD = 24, AHEAD_ITEM = 8, GROUPS = 8, CLASSES = 4 };

/* Runs in order of their processes. */
struct ft_scan_order {
    uint32_t process, run;
};

/* FT_COUNT_* by group and classes of both files. */
static uint8_t masks[GROUPS][CLASSES][CLASSES];

static void make_masks(void)
{
    for (unsigned group = 0; group < GROUPS; group++) {
        for (unsigned a = 0; a < CLASSES; a++) {
            for (unsigned b = 0; b < CLASSES; b++) {
                masks[group][a][b] = (uint8_t)ft_count_of(group, a, b);
            }
        }
    }
}

void ft_scan_part_init(struct ft_scan_part *part, struct ft_scan_work *work)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_masks);
    memset(part, 0, sizeof(*part));
    part->work = work;
    part->processes = ft_cli_alloc(work->process_count * sizeof(*part->processes));
    part->busy.has_processes = work->parts & FT_SCAN_PROCESS_TIMES;
    ft_scan_files_init(&part->files, work->place_count);
}

void ft_scan_part_fini(struct ft_scan_part *part)
{
    ft_scan_files_fini(&part->files);
    ft_busy_fini(&part->busy);
    free(part->run_files);
    free(part->order);
    free(part->accesses);
    free(part->processes);
    ft_reuse_marks_fini(&part->marks);
}

uint32_t ft_scan_part_columns(unsigned parts)
{
    uint32_t mask = FT_COL_START | FT_COL_DUR | FT_COL_CALL | FT_COL_FILE | FT_COL_FILE2 | FT_COL_BYTES | FT_COL_ERR;
    mask |= parts & (FT_SCAN_UNIONS | FT_SCAN_PROCESS_TIMES) ? FT_COL_NAME : 0;
    mask |= parts & FT_SCAN_ACCESS ? FT_COL_OFFSET : 0;
    return mask;
}

static int64_t clamp(int64_t time_ns, int64_t most)
{
    return time_ns > most ? most : time_ns < -most ? -most : time_ns;
}

static int64_t realtime_of(const struct ft_scan_part *part, int64_t mono_ns)
{
    return clamp(mono_ns + part->realtime_offset_ns, TIME_MAX);
}

static bool is_named(struct ft_bytes bytes, const char *name)
{
    return bytes.len == strlen(name) && memcmp(bytes.data, name, bytes.len) == 0;
}

static void add_span(struct ft_scan_part *part, const struct ft_rows *rows, size_t i)
{
    struct ft_bytes category = ft_trace_reader_name(part->reader, rows->category[i]);
    int64_t start = realtime_of(part, rows->start_ns[i]), end = clamp(start + rows->dur_ns[i], TIME_MAX);
    ft_busy_add_span(&part->busy, FT_SWEEP_APP, start, end);
    if (is_named(category, "compute")) {
        ft_busy_add_span(&part->busy, FT_SWEEP_COMPUTE, start, end);
    } else if (is_named(category, "io") || is_named(category, "data")) {
        ft_busy_add_span(&part->busy, FT_SWEEP_APP_IO, start, end);
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

static uint32_t entry_of(struct ft_scan_part *part, uint32_t file)
{
    uint32_t at = ft_scan_files_at(&part->files, file); /* which may move the items */
    return part->files.items[at].entry;
}

/* A call that succeeded in removing, renaming or linking a file. */
static void note_names(struct ft_scan_part *part, unsigned reuse, uint32_t file, uint32_t file2, int64_t mono_ns)
{
    int64_t ts_ns = realtime_of(part, mono_ns);
    uint32_t entry = entry_of(part, file);
    if (reuse == FT_REUSE_UNLINK) {
        mark_path(part, entry, true, ts_ns);
        return;
    }
    uint32_t entry2 = entry_of(part, file2);
    if (reuse == FT_REUSE_RENAME) {
        mark_path(part, entry2, true, ts_ns);
    }
    mark_path(part, entry2, false, ts_ns);
}

/* The first time in this run. */
static void touch(struct ft_scan_part *part, struct ft_scan_file *file)
{
    file->run = part->run;
    if (file->entry == FT_ENTRY_NONE) {
        return;
    }
    if (part->run_file_count == part->run_file_space) {
        part->run_file_space = part->run_file_space ? part->run_file_space * 2 : 256;
        part->run_files = ft_cli_realloc(part->run_files, part->run_file_space, sizeof(*part->run_files));
    }
    part->run_files[part->run_file_count++] = file->entry;
}

/* The second file of a call. Its class. */
static unsigned add_second(struct ft_scan_part *part, const struct ft_rows *rows, size_t i, uint32_t entry)
{
    const struct ft_scan_call *call = &part->calls[rows->call[i]];
    uint32_t at = ft_scan_files_at(&part->files, rows->file2[i]); /* which may move the items */
    struct ft_scan_file *file = &part->files.items[at];
    if (file->entry != entry) {
        file->events++;
        if (file->run != part->run) {
            touch(part, file);
        }
    }
    if (call->is_transfer) {
        file->errors += rows->err[i] != 0;
        file->count[FT_SIDE_WRITE]++;
        file->bytes[FT_SIDE_WRITE] += rows->bytes[i];
        file->time_ns[FT_SIDE_WRITE] += (uint64_t)rows->dur_ns[i];
    }
    return file->file_class;
}

static inline void add_to_file(struct ft_scan_file *file, const struct ft_scan_call *call, int64_t start_ns,
                               uint64_t time_ns, uint64_t bytes, bool is_error)
{
    file->first_ns = file->is_identified && start_ns < file->first_ns ? start_ns : file->first_ns;
    file->events++;
    file->errors += is_error;
    file->opens += call->is_open & !is_error;
    file->count[call->side]++;
    file->time_ns[call->side] += time_ns;
    file->bytes[call->bytes_side] += bytes;
}

static inline void add_to_process(struct ft_process_sum *sum, const struct ft_scan_call *call, unsigned mask,
                                  bool is_memory, uint64_t time_ns, uint64_t bytes)
{
    unsigned moved = mask | (mask & FT_COUNT_METADATA ? call->stream : 0u);
    unsigned sides = is_memory ? 0 : call->stream ? 1 : call->kernel_sides;
    sum->io_time_ns += mask & FT_COUNT_IO ? time_ns : 0;
    sum->read_bytes += moved & FT_COUNT_READ ? bytes : 0;
    sum->written_bytes += moved & FT_COUNT_WRITE ? bytes : 0;
    sum->kernel_like_bytes += sides * bytes;
}

static inline void add_access(struct ft_scan_part *part, const struct ft_rows *rows, size_t i, unsigned mask,
                              uint32_t entry)
{
    bool is_request = mask == FT_COUNT_READ || mask == FT_COUNT_WRITE;
    if (is_request && entry != FT_ENTRY_NONE && rows->err[i] == 0 && rows->has[i] & FT_HAS_OFFSET) {
        uint64_t offset = (uint64_t)rows->offset[i];
        ft_access_run_add(&part->accesses[part->access_count], &part->access_counts, entry, mask == FT_COUNT_WRITE,
                          offset, offset + rows->bytes[i]);
    }
}

/* Whose item stands at `at`. */
struct known_file {
    uint32_t id, at;
};

static inline __attribute__((always_inline)) void add_call(struct ft_scan_part *part, const struct ft_rows *rows,
                                                           size_t i, struct ft_process_sum *sum,
                                                           struct known_file *known)
{
    const struct ft_scan_call *call = &part->calls[rows->call[i]];
    uint64_t time_ns = (uint64_t)rows->dur_ns[i], bytes = rows->bytes[i];
    if (rows->file[i] != known->id) {
        *known = (struct known_file){.id = rows->file[i], .at = ft_scan_files_at(&part->files, rows->file[i])};
    }
    unsigned second = FT_FILE_CLASS_NONE;
    if (rows->file2[i] != 0) {
        second = add_second(part, rows, i, part->files.items[known->at].entry);
    }
    struct ft_scan_file *file = &part->files.items[known->at];
    unsigned mask = masks[call->group % GROUPS][file->file_class][second];
    add_to_file(file, call, rows->start_ns[i], time_ns, bytes, rows->err[i] != 0);
    if (file->run != part->run) {
        touch(part, file);
    }
    add_to_process(sum, call, mask, file->is_memory, time_ns, bytes);
    int64_t start = clamp(rows->start_ns[i] - part->base_ns, BLOCK_TIME_MAX);
    int64_t dur = rows->dur_ns[i] < BLOCK_TIME_MAX ? rows->dur_ns[i] : BLOCK_TIME_MAX;
    ft_busy_add(&part->busy, start, dur, mask & (FT_BUSY_READ | FT_BUSY_WRITE), (mask & FT_COUNT_IO) != 0);
    if (part->work->parts & FT_SCAN_ACCESS) {
        add_access(part, rows, i, mask, file->entry);
    }
    if (call->reuse != FT_REUSE_NONE && rows->err[i] == 0) {
        note_names(part, call->reuse, rows->file[i], rows->file2[i], rows->start_ns[i]);
    }
}

static void begin_run(struct ft_scan_part *part, const struct ft_run *run)
{
    part->run++;
    part->run_file_count = 0;
    ft_access_run_begin(&part->accesses[part->access_count],
                        ft_trace_set_thread(part->work->set, part->reader_index, run->thread));
}

static void add_run(struct ft_scan_part *part, const struct ft_rows *rows, const struct ft_run *run, uint32_t process)
{
    struct ft_process_sum sum = {.events = run->count};
    struct known_file known = {.id = 0, .at = ft_scan_files_at(&part->files, 0)};
    begin_run(part, run);
    for (size_t i = run->first, last = i + run->count; i < last; i++) {
        if (i + AHEAD < rows->count) {
            ft_scan_files_fetch(&part->files, rows->file[i + AHEAD]);
            ft_scan_files_fetch_item(&part->files, rows->file[i + AHEAD_ITEM]);
        }
        if (rows->kind[i] == FT_EVENT_CALL) {
            add_call(part, rows, i, &sum, &known);
        } else if (rows->kind[i] == FT_EVENT_SPAN && rows->category) {
            add_span(part, rows, i);
        }
    }
    part->access_count += part->accesses[part->access_count].tail_count > 0;
    if (process == FT_TRACE_SET_NONE) {
        return;
    }
    ft_process_sum_add(&part->processes[process], &sum);
    if (part->work->parts & FT_SCAN_FILES && part->run_file_count > 0) {
        ft_touched_add(&part->work->touched, process, part->run_files, part->run_file_count);
    }
}

static void begin_block(struct ft_scan_part *part, size_t reader, const struct ft_rows *rows)
{
    part->reader = ft_trace_set_reader(part->work->set, reader);
    part->reader_index = reader;
    part->calls = part->work->calls[reader];
    part->run = 0;
    part->access_count = 0;
    part->realtime_offset_ns = ft_trace_set_realtime_ns(part->work->set, reader, 0);
    part->base_ns = rows->count ? rows->start_ns[0] : 0;
    ft_scan_files_begin(&part->files, part->work->entries->of[reader], ft_trace_reader_file_max(part->reader));
    ft_busy_begin(&part->busy, realtime_of(part, part->base_ns), rows->count);
    if (rows->run_count > part->run_space) {
        part->run_space = rows->run_count * 2;
        part->order = ft_cli_realloc(part->order, part->run_space, sizeof(*part->order));
        part->accesses = ft_cli_realloc(part->accesses, part->run_space, sizeof(*part->accesses));
    }
}

static int compare(const void *a_untyped, const void *b_untyped)
{
    const struct ft_scan_order *a = a_untyped, *b = b_untyped;
    return a->process != b->process ? (a->process < b->process ? -1 : 1) : (a->run > b->run) - (a->run < b->run);
}

static void order_runs(struct ft_scan_part *part, const struct ft_rows *rows)
{
    bool is_ordered = true;
    for (uint32_t r = 0; r < rows->run_count; r++) {
        part->order[r].run = r;
        part->order[r].process =
            ft_trace_set_process_of_thread(part->work->set, part->reader_index, rows->runs[r].thread);
        is_ordered &= r == 0 || part->order[r].process >= part->order[r - 1].process;
    }
    if (!is_ordered) {
        qsort(part->order, rows->run_count, sizeof(*part->order), compare);
    }
}

void ft_scan_part_add(struct ft_scan_part *part, size_t reader, const struct ft_rows *rows)
{
    begin_block(part, reader, rows);
    order_runs(part, rows);
    for (size_t r = 0; r < rows->run_count; r++) {
        uint32_t process = part->order[r].process;
        add_run(part, rows, &rows->runs[part->order[r].run], process);
        if (r + 1 == rows->run_count || part->order[r + 1].process != process) {
            ft_busy_end_process(&part->busy, process);
        }
    }
    if (part->work->parts & FT_SCAN_FILES) {
        pthread_mutex_lock(&part->work->files_lock);
        ft_scan_files_add_to(&part->files, part->work->files, part->realtime_offset_ns);
        pthread_mutex_unlock(&part->work->files_lock);
    }
    if (part->work->parts & FT_SCAN_UNIONS) {
        ft_busy_end(&part->busy);
    }
    part->rows += rows->count;
}
