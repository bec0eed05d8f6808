// SPDX-License-Identifier: MIT
/* Rows that are sums of events (PROFILE frames): they add to files and processes as the events would, but nothing of
 * them is known about time and order. */
#include "client/cli/analysis_count.h"
#include "client/cli/analysis_scan_part.h"
#include "client/cli/cli.h"
#include "proto/calls.h"

struct sums {
    struct ft_scan *scan;
    struct ft_scan_work *work;
    struct ft_scan_files files; /* of the block at hand */
    const struct ft_scan_call *calls;
    size_t reader_index;
};

static void touch(const struct sums *sums, uint32_t process, uint32_t entry)
{
    if (entry != FT_ENTRY_NONE && process != FT_TRACE_SET_NONE && sums->work->parts & FT_SCAN_FILES) {
        ft_touched_add(&sums->work->touched, process, &entry, 1);
    }
}

static struct ft_scan_file *file_at(struct sums *sums, uint32_t id)
{
    uint32_t at = ft_scan_files_at(&sums->files, id); /* which may move the items */
    return &sums->files.items[at];
}

/* A sum may be of more calls than the counts of a block hold. */
enum { COUNTS_READS = FT_SCAN_COUNTS, COUNTS_WRITES, COUNTS_ALL };
static const uint64_t LARGE = UINT64_C(1) << 31;

static void count_large(struct sums *sums, const struct ft_scan_file *file, int what, uint64_t more)
{
    uint64_t counts[COUNTS_ALL] = {0};
    counts[what] = more;
    if (file->entry != FT_ENTRY_NONE && sums->work->parts & FT_SCAN_FILES) {
        ft_file_sums_add_counts(sums->work->files, file->entry,
                                &(struct ft_file_sum){.first_ns = INT64_MAX,
                                                      .events = counts[FT_SCAN_EVENTS],
                                                      .errors = counts[FT_SCAN_ERRORS],
                                                      .opens = counts[FT_SCAN_OPENS],
                                                      .metadata = counts[FT_SCAN_METADATA],
                                                      .reads = counts[COUNTS_READS],
                                                      .writes = counts[COUNTS_WRITES]});
    }
}

static void count(struct sums *sums, struct ft_scan_file *file, int what, uint64_t more)
{
    if (more < LARGE && file->counts[what] + more < LARGE) {
        file->counts[what] += (uint32_t)more;
    } else {
        count_large(sums, file, what, more);
    }
}

static void count_moved(struct sums *sums, struct ft_scan_file *file, enum ft_side side, uint64_t more)
{
    struct ft_scan_moved *moved = ft_scan_files_moved(&sums->files, file);
    if (more < LARGE && moved->count[side] + more < LARGE) {
        moved->count[side] += (uint32_t)more;
    } else if (side == FT_SIDE_READ || side == FT_SIDE_WRITE) {
        count_large(sums, file, side == FT_SIDE_READ ? COUNTS_READS : COUNTS_WRITES, more);
    }
}

static void add_side(struct sums *sums, struct ft_scan_file *file, enum ft_side side, enum ft_side bytes_side,
                     const struct ft_rows *rows, size_t i)
{
    struct ft_scan_moved *moved = ft_scan_files_moved(&sums->files, file);
    count(sums, file, FT_SCAN_ERRORS, (uint64_t)rows->result[i]);
    count(sums, file, FT_SCAN_METADATA, side == FT_SIDE_METADATA ? (uint64_t)rows->arg[i] : 0);
    file->metadata_time_ns += side == FT_SIDE_METADATA ? (uint64_t)rows->dur_ns[i] : 0;
    count_moved(sums, file, side, (uint64_t)rows->arg[i]);
    moved->time_ns[side] += (uint64_t)rows->dur_ns[i];
    moved->bytes[bytes_side] += rows->bytes[i];
}

/* Its class. */
static unsigned add_second(struct sums *sums, const struct ft_rows *rows, size_t i, uint32_t process, uint32_t entry)
{
    struct ft_scan_file *file = file_at(sums, rows->file2[i]);
    if (file->entry != entry && !ft_scan_is_only_made(sums->work->entries, file, sums->calls[rows->call[i]].reuse)) {
        count(sums, file, FT_SCAN_EVENTS, (uint64_t)rows->arg[i]);
        touch(sums, process, file->entry);
    }
    if (sums->calls[rows->call[i]].is_transfer) {
        add_side(sums, file, FT_SIDE_WRITE, FT_SIDE_WRITE, rows, i);
    }
    return file->file_class;
}

static void add_to_process(struct ft_process_sum *sum, const struct ft_scan_call *call, unsigned mask, bool is_memory,
                           const struct ft_rows *rows, size_t i)
{
    unsigned moved = mask | (mask & FT_COUNT_METADATA ? call->stream : 0u);
    unsigned sides = is_memory ? 0 : call->stream ? 1 : call->kernel_sides;
    sum->events += rows->flags[i] & FT_EVENT_F_CAPPED ? 0 : rows->arg[i];
    sum->profiled += rows->arg[i];
    sum->io_time_ns += mask & FT_COUNT_IO ? (uint64_t)rows->dur_ns[i] : 0;
    sum->read_bytes += moved & FT_COUNT_READ ? rows->bytes[i] : 0;
    sum->written_bytes += moved & FT_COUNT_WRITE ? rows->bytes[i] : 0;
    sum->late_bytes += call->is_late && moved & (FT_COUNT_READ | FT_COUNT_WRITE) ? rows->bytes[i] : 0;
    sum->kernel_like_bytes += sides * rows->bytes[i];
}

static void add_row(struct sums *sums, const struct ft_rows *rows, size_t i, uint32_t process)
{
    static const struct ft_scan_call no_call = {
        .group = FT_GROUP_OTHER, .side = FT_SIDE_NONE, .bytes_side = FT_SIDE_NONE};
    bool is_call = rows->kind[i] == FT_EVENT_CALL;
    const struct ft_scan_call *call = is_call ? &sums->calls[rows->call[i]] : &no_call;
    unsigned second = FT_FILE_CLASS_NONE, first;
    uint32_t entry = file_at(sums, rows->file[i])->entry;
    if (rows->file2[i]) {
        second = add_second(sums, rows, i, process, entry);
    }
    struct ft_scan_file *file = file_at(sums, rows->file[i]);
    first = file->file_class;
    file->first_ns = file->is_identified && rows->start_ns[i] < file->first_ns ? rows->start_ns[i] : file->first_ns;
    count(sums, file, FT_SCAN_EVENTS, (uint64_t)rows->arg[i]);
    int64_t worked = (int64_t)((uint64_t)rows->arg[i] - (uint64_t)rows->result[i]);
    count(sums, file, FT_SCAN_OPENS, call->is_open && worked > 0 ? (uint64_t)worked : 0);
    add_side(sums, file, call->side, call->bytes_side, rows, i);
    touch(sums, process, entry);
    if (process != FT_TRACE_SET_NONE) {
        unsigned mask = is_call ? ft_count_of(call->group, first, second) : 0;
        add_to_process(&sums->scan->processes[process], call, mask, file->is_memory, rows, i);
    }
}

static void add_block(struct sums *sums, size_t reader, const struct ft_rows *rows)
{
    const struct ft_trace_set *set = sums->work->set;
    sums->calls = sums->work->calls[reader]->calls;
    ft_scan_files_begin(&sums->files, sums->work->entries->of[reader],
                        ft_trace_reader_file_max(ft_trace_set_reader(set, reader)));
    for (size_t r = 0; r < rows->run_count; r++) {
        const struct ft_run *run = &rows->runs[r];
        uint32_t process = ft_trace_set_process_of_thread(set, reader, run->thread);
        for (size_t i = run->first; i < run->first + (size_t)run->count; i++) {
            add_row(sums, rows, i, process);
            sums->scan->rows += rows->flags[i] & FT_EVENT_F_CAPPED ? 0 : rows->arg[i];
        }
    }
    if (sums->work->parts & FT_SCAN_FILES) {
        ft_scan_files_add_to(&sums->files, sums->work->files, ft_trace_set_realtime_ns(set, reader, 0));
    }
}

void ft_scan_add_sums(struct ft_scan *scan, struct ft_scan_work *work)
{
    struct sums sums = {.scan = scan, .work = work};
    struct ft_trace_decoder *decoder;
    size_t count;
    const struct ft_trace_set_block *blocks = ft_trace_set_profiles(work->set, &count);
    if (count == 0) {
        return;
    }
    if (!ft_cli_decoded(ft_trace_decoder_create(&decoder))) {
        scan->bad_blocks += count;
        return;
    }
    ft_scan_files_init(&sums.files, work->place_count);
    for (size_t b = 0; b < count; b++) {
        struct ft_rows rows;
        if (!ft_cli_decoded(ft_trace_decoder_rows(decoder, ft_trace_set_reader(work->set, blocks[b].reader),
                                                  FT_TRACE_PROFILE | blocks[b].block, FT_COL_ALL, &rows))) {
            scan->bad_blocks++;
            continue;
        }
        add_block(&sums, blocks[b].reader, &rows);
    }
    ft_scan_files_fini(&sums.files);
    ft_trace_decoder_destroy(decoder);
}
