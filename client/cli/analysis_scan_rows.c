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
        uint32_t path_id = ft_entry_path_id(part->work->entries, file->entry);
        struct ft_reuse_mark mark = {.path_id = path_id, .is_removed = is_removed, .ts_ns = ts_ns};
        ft_reuse_marks_add(&part->marks, mark);
    }
}

static unsigned reuse_of(const struct ft_scan_part *part, const struct ft_rows *rows, size_t i)
{
    unsigned reuse = part->calls[rows->call[i]].reuse;
    if (reuse == FT_REUSE_BY_FLAGS) {
        bool is_known = rows->arg && rows->has[i] & FT_HAS_ARG;
        reuse = ft_reuse_kind_of_flags(is_known, is_known ? rows->arg[i] : 0);
    }
    return reuse;
}

/* A call that succeeded in removing, renaming or linking a file. */
static void note_names(struct ft_scan_part *part, const struct ft_rows *rows, size_t i)
{
    int64_t ts_ns = ft_scan_part_realtime(part, rows->start_ns[i]);
    uint32_t file = rows->file[i], file2 = rows->file2[i];
    unsigned reuse = reuse_of(part, rows, i);
    if (reuse == FT_REUSE_UNLINK) {
        mark_path(part, file, true, ts_ns);
        return;
    }
    if (reuse == FT_REUSE_RENAME) {
        mark_path(part, file2, true, ts_ns);
    }
    if (reuse == FT_REUSE_EXCHANGE) {
        mark_path(part, file, false, ts_ns);
    }
    mark_path(part, file2, false, ts_ns);
}

/* What few calls add to: where FT_SCAN_IS_RARE. */
static __attribute__((noinline)) void add_rare(struct ft_scan_part *part, const struct ft_rows *rows, size_t i,
                                               const struct ft_scan_effect *effect)
{
    const struct ft_scan_call *call = &part->calls[rows->call[i]];
    part->late_bytes += call->is_late && effect->moved ? rows->bytes[i] : 0;
    if (call->reuse != FT_REUSE_NONE && rows->err[i] == 0) {
        note_names(part, rows, i);
    }
}

bool ft_scan_is_only_made(const struct ft_entries *entries, const struct ft_scan_file *file, unsigned reuse)
{
    if (reuse == FT_REUSE_NONE || file->is_identified || file->entry == FT_ENTRY_NONE) {
        return false;
    }
    return !ft_entry_is_identified(ft_entry_record(entries, &entries->items[file->entry]));
}

/* The second file of a call. Its class. */
static unsigned add_second(struct ft_scan_part *part, const struct ft_rows *rows, size_t i, uint32_t entry)
{
    struct ft_scan_file *file = file_at(part, rows->file2[i]);
    if (file->entry != entry && !ft_scan_is_only_made(part->work->entries, file, part->calls[rows->call[i]].reuse)) {
        file->counts[FT_SCAN_EVENTS]++;
        if (file->run != part->run && file->second_run != part->run) {
            ft_scan_keep_touched(part, file);
        }
        file->second_run = part->run;
    }
    if (part->calls[rows->call[i]].is_transfer) {
        struct ft_scan_moved *moved = ft_scan_files_moved(&part->files, file);
        file->counts[FT_SCAN_ERRORS] += rows->err[i] != 0;
        moved->count[FT_SIDE_WRITE]++;
        moved->bytes[FT_SIDE_WRITE] += rows->bytes[i];
        moved->time_ns[FT_SIDE_WRITE] += (uint64_t)rows->dur_ns[i];
    }
    return file->file_class;
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
    uint64_t moved_ns;
    bool has_access;
};

static inline bool is_request(const struct ft_scan_file *file, const struct ft_scan_effect *effect,
                              const struct run *run)
{
    return run->has_access && effect->flags & FT_SCAN_IS_REQUEST && file->entry != FT_ENTRY_NONE;
}

/* What moves data, or may: so many calls. */
static inline __attribute__((always_inline)) void add_moved(struct ft_scan_part *part, struct ft_scan_file *file,
                                                            const struct ft_scan_effect *effect, uint32_t count,
                                                            uint64_t time_ns, uint64_t bytes, struct run *run)
{
    struct ft_scan_moved *moved = ft_scan_files_moved(&part->files, file);
    struct ft_process_sum *sum = &run->sum;
    moved->count[effect->side] += count;
    moved->time_ns[effect->side] += time_ns;
    moved->bytes[effect->bytes_side] += bytes;
    sum->read_bytes += effect->moved & FT_COUNT_READ ? bytes : 0;
    sum->written_bytes += effect->moved & FT_COUNT_WRITE ? bytes : 0;
    sum->kernel_like_bytes += effect->kernel_sides * bytes;
    run->moved_ns += time_ns & effect->move_time;
}

static inline __attribute__((always_inline)) void add_row(struct ft_scan_part *part, const struct ft_rows *rows,
                                                          size_t i, struct ft_scan_file *file,
                                                          const struct ft_scan_effect *effect, struct run *run)
{
    uint64_t time_ns = (uint64_t)rows->dur_ns[i];
    file->counts += effect->counts[rows->err[i] != 0];
    file->metadata_time_ns += time_ns & effect->metadata_time;
    run->sum.io_time_ns += time_ns & effect->io_time;
    if (effect->flags & FT_SCAN_IS_MOVE) {
        add_moved(part, file, effect, 1, time_ns, rows->bytes[i], run);
        if (is_request(file, effect, run)) {
            add_access(part, rows, i, effect->mask == FT_COUNT_WRITE, file->entry);
        }
    }
}

/* A call with a second file, whose class has a say in what it adds to. What is to be known of it for the unions. */
static __attribute__((noinline)) uint8_t add_pair(struct ft_scan_part *part, const struct ft_rows *rows, size_t i,
                                                  uint32_t at, struct run *run)
{
    const struct ft_scan_call *call = &part->calls[rows->call[i]];
    unsigned second = add_second(part, rows, i, part->files.items[at].entry);
    struct ft_scan_file *file = &part->files.items[at];
    struct ft_scan_effect effect = ft_scan_effect_of(call, file->file_class, second, file->is_memory);
    add_row(part, rows, i, file, &effect, run);
    if (effect.flags & FT_SCAN_IS_RARE) {
        add_rare(part, rows, i, &effect);
    }
    return effect.busy;
}

/* Rows that are not calls with one file. */
static inline __attribute__((always_inline)) uint8_t add_other(struct ft_scan_part *part, const struct ft_rows *rows,
                                                               size_t i, uint32_t at, struct run *run)
{
    uint8_t busy = 0;
    if (rows->kind[i] == FT_EVENT_CALL) {
        struct run own = *run; /* in memory while it is written; theirs can be in registers */
        busy = add_pair(part, rows, i, at, &own);
        *run = own;
    } else if (rows->kind[i] == FT_EVENT_SPAN && rows->category) {
        add_span(part, rows, i);
    }
    return busy;
}

/* What rows are, of which the files are found: a loop for vector instructions. Behind the last one is a new one. */
static void find_repeats(struct ft_scan_part *part, const struct ft_rows *rows, size_t first, size_t count)
{
    const uint32_t *at = part->file_at, *file2 = rows->file2 + first;
    const uint16_t *call = rows->call + first;
    const uint8_t *kind = rows->kind + first;
    uint8_t *row_as = part->row_as;
    row_as[0] = kind[0] | file2[0] ? FT_SCAN_ROW_OTHER | FT_SCAN_ROW_NEW : FT_SCAN_ROW_NEW;
    for (size_t k = 1; k < count; k++) {
        uint32_t other = file2[k] | kind[k], differs = (at[k] ^ at[k - 1]) | (uint32_t)(call[k] ^ call[k - 1]);
        row_as[k] = (uint8_t)((other != 0 ? FT_SCAN_ROW_OTHER : 0) | (differs != 0 ? FT_SCAN_ROW_NEW : 0));
    }
    memset(row_as + count, FT_SCAN_ROW_NEW, sizeof(uint64_t));
}

/* Where the rows from `k` of a piece on end that are as the one before. */
static inline size_t repeats_end(const struct ft_scan_part *part, size_t k)
{
    uint64_t some;
    for (;; k += sizeof(some)) {
        memcpy(&some, part->row_as + k, sizeof(some));
        if (some != 0) {
            return k + (size_t)__builtin_ctzll(some) / 8;
        }
    }
}

/* The same of such rows: of loops, which are full of them, each costs little. */
static void add_repeats(struct ft_scan_part *part, const struct ft_rows *rows, size_t first, size_t count,
                        struct ft_scan_file *file, const struct ft_scan_effect *effect, struct run *run)
{
    const int64_t *dur_ns = rows->dur_ns + first;
    const uint64_t *bytes = rows->bytes + first;
    const int32_t *err = rows->err + first;
    uint64_t sum_ns = 0, sum_bytes = 0;
    uint32_t errors = 0;
    for (size_t k = 0; k < count; k++) {
        sum_ns += (uint64_t)dur_ns[k];
        sum_bytes += bytes[k];
        errors += err[k] != 0;
    }
    file->counts += effect->counts[0] * ((uint32_t)count - errors) + effect->counts[1] * errors;
    file->metadata_time_ns += sum_ns & effect->metadata_time;
    run->sum.io_time_ns += sum_ns & effect->io_time;
    if (effect->flags & FT_SCAN_IS_MOVE) {
        add_moved(part, file, effect, (uint32_t)count, sum_ns, sum_bytes, run);
    }
    for (size_t k = 0; k < count && is_request(file, effect, run); k++) {
        add_access(part, rows, first + k, effect->mask == FT_COUNT_WRITE, file->entry);
    }
}

/* Rows from `first` on, whose files are found. */
static inline __attribute__((always_inline)) void add_rows(struct ft_scan_part *part, const struct ft_rows *rows,
                                                           size_t first, size_t count, struct run *run)
{
    const struct ft_scan_effect(*effects)[FT_TRACE_CALL_MAX] = part->effects;
    struct ft_scan_file *files = part->files.items;
    for (size_t k = 0; k < count; k++) {
        size_t i = first + k;
        if (__builtin_expect(part->row_as[k] & FT_SCAN_ROW_OTHER, false)) {
            part->busy_as[k] = add_other(part, rows, i, part->file_at[k], run);
            files = part->files.items;
            continue;
        }
        struct ft_scan_file *file = &files[part->file_at[k]];
        const struct ft_scan_effect *effect = &effects[file->variant][rows->call[i]];
        part->busy_as[k] = effect->busy;
        add_row(part, rows, i, file, effect, run);
        if (effect->flags & FT_SCAN_IS_RARE) {
            add_rare(part, rows, i, effect);
            files = part->files.items;
        }
        if (part->row_as[k + 1] == 0 && !(effect->flags & FT_SCAN_IS_RARE)) {
            size_t end = repeats_end(part, k + 2);
            add_repeats(part, rows, i + 1, end - k - 1, file, effect, run);
            memset(part->busy_as + k + 1, effect->busy, end - k - 1);
            k = end - 1;
        }
    }
}

static __attribute__((noinline)) void add_long(struct ft_scan_part *part, int64_t start_ns, int64_t dur_ns,
                                               unsigned busy)
{
    int64_t start = ft_scan_part_realtime(part, start_ns);
    ft_busy_add_long(&part->busy, start, clamp(start + dur_ns), busy & MOVED);
}

/* When they went on. */
static void add_busy(struct ft_scan_part *part, const struct ft_rows *rows, size_t first, size_t count)
{
    const int64_t *start_ns = rows->start_ns + first, *dur_ns = rows->dur_ns + first;
    struct ft_busy_writer writer = part->busy.writer;
    uint64_t base = (uint64_t)part->base_ns;
    for (size_t k = 0; k < count; k++) {
        uint64_t start = (uint64_t)start_ns[k] - base, dur = (uint64_t)dur_ns[k];
        unsigned busy = part->busy_as[k];
        bool is_wanted = busy >> FT_PACKED_MOVED_BITS & (dur != 0);
        if (__builtin_expect(ft_packed_fits(writer.form, start, dur), true)) {
            ft_busy_add(&writer, start, dur, busy & MOVED, is_wanted);
        } else if (is_wanted) {
            add_long(part, start_ns[k], dur_ns[k], busy);
        }
    }
    part->busy.writer = writer;
}

void ft_scan_rows_add(struct ft_scan_part *part, const struct ft_rows *of_block, const struct ft_run *which,
                      struct ft_process_sum *sum)
{
    const struct ft_rows own = *of_block, *rows = &own;
    struct run run = {.has_access = part->work->parts & FT_SCAN_ACCESS};
    for (size_t done = 0, count; done < which->count; done += count) {
        size_t first = which->first + done;
        count = which->count - done < FT_SCAN_PIECE ? which->count - done : FT_SCAN_PIECE;
        ft_scan_find_files(part, rows, first, count);
        find_repeats(part, rows, first, count);
        add_rows(part, rows, first, count, &run);
        add_busy(part, rows, first, count);
    }
    ft_busy_add_times(&part->busy.writer, run.sum.io_time_ns, run.moved_ns);
    run.sum.late_bytes = part->late_bytes;
    ft_process_sum_add(sum, &run.sum);
}
