// SPDX-License-Identifier: MIT
#include "client/cli/analysis_scan.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_scan_order.h"
#include "client/cli/analysis_scan_part.h"
#include "client/cli/analysis_workers.h"
#include "client/cli/cli.h"

enum { AHEAD = 8 };

/* While files are counted, instead of a count: the entry's file has several paths. */
#define HAS_PATHS (UINT32_C(1) << 31)

/* What all threads share; touched in turn. */
struct queue {
    struct ft_scan *scan;
    struct ft_scan_work *work;
    struct ft_calls *calls; /* NULL: not wanted */
    struct ft_scan_endings endings;
    struct ft_scan_pair *shared;
    size_t shared_count, shared_space;
};

struct worker {
    struct queue *queue;
    struct ft_scan_part part;
    struct ft_aggregator *sums; /* of the block at hand */
};

/* Entries of a file with several paths are counted at the end, when it is known which of them are one. */
static void keep_shared(struct queue *queue, uint32_t process, uint32_t entry)
{
    if (queue->shared_count == queue->shared_space) {
        queue->shared_space = queue->shared_space ? queue->shared_space * 2 : 256;
        queue->shared = ft_cli_realloc(queue->shared, queue->shared_space, sizeof(*queue->shared));
    }
    queue->shared[queue->shared_count++] = (struct ft_scan_pair){.process = process, .entry = entry};
}

static void take_touched(struct queue *queue, uint32_t process)
{
    size_t count;
    uint32_t *entries = ft_touched_take(&queue->work->touched, process, &count);
    uint32_t *processes = queue->scan->files.processes;
    for (size_t i = 0; i < count; i++) {
        __builtin_prefetch(&processes[entries[i + AHEAD < count ? i + AHEAD : i]], 1);
        if (processes[entries[i]] & HAS_PATHS) {
            keep_shared(queue, process, entries[i]);
        } else {
            processes[entries[i]]++;
        }
    }
    free(entries);
}

/* In turn: what the block's rows were goes into what is kept for all. */
static void keep_block(struct queue *queue, const struct ft_scan_part *part, const struct ft_scan_block *block)
{
    if (queue->work->parts & FT_SCAN_PROCESS_TIMES) {
        ft_process_times_add(&queue->scan->times, block->host, &part->busy, block->watermark_ns);
    }
    for (size_t i = part->access_count; i-- > 0;) {
        ft_access_add(&queue->scan->access, &part->accesses[i]);
    }
}

/* The same for the unions of the whole job, whose blocks are those of all hosts. */
static void sweep_block(struct queue *queue, const struct ft_scan_part *part, int64_t watermark_ns, bool is_sound)
{
    if (is_sound && queue->work->parts & FT_SCAN_UNIONS) {
        ft_sweep_add(&queue->scan->sweep, &part->busy.whole, watermark_ns);
    } else {
        ft_sweep_settle(&queue->scan->sweep, watermark_ns);
    }
}

static void end_processes(struct queue *queue, uint32_t host, int64_t watermark_ns)
{
    uint32_t process;
    while (queue->work->parts & FT_SCAN_FILES &&
           (process = ft_scan_endings_next(&queue->endings, host, watermark_ns)) != FT_TRACE_SET_NONE) {
        take_touched(queue, process);
    }
}

static void hand_over(void *worker_untyped, const struct ft_workers_turn *turn)
{
    struct worker *worker = worker_untyped;
    struct queue *queue = worker->queue;
    if (turn->is_sound) {
        keep_block(queue, &worker->part, turn->block);
    }
    if (turn->is_sound && queue->calls) {
        ft_calls_add_sums(queue->calls, ft_trace_set_reader(queue->work->set, turn->block->reader), worker->sums);
    }
    sweep_block(queue, &worker->part, turn->watermark_ns, turn->is_sound);
    if (turn->block->watermark_ns != INT64_MIN) {
        end_processes(queue, turn->block->host, turn->block->watermark_ns);
    }
}

static void add_block(void *worker_untyped, const struct ft_scan_block *block, const struct ft_rows *rows)
{
    struct worker *worker = worker_untyped;
    const struct ft_trace_reader *reader = ft_trace_set_reader(worker->queue->work->set, block->reader);
    size_t count;
    if (!rows) {
        return;
    }
    ft_scan_part_add(&worker->part, block->reader, &ft_trace_reader_blocks(reader, &count)[block->block], rows);
    if (worker->sums) {
        ft_calls_sum_rows(worker->sums, reader, rows);
    }
}

void ft_process_sum_add(struct ft_process_sum *to, const struct ft_process_sum *from)
{
    to->events += from->events;
    to->profiled += from->profiled;
    to->read_bytes += from->read_bytes;
    to->written_bytes += from->written_bytes;
    to->late_bytes += from->late_bytes;
    to->io_time_ns += from->io_time_ns;
    to->kernel_like_bytes += from->kernel_like_bytes;
}

/* One part's sums go into the whole. */
static void add_part(struct ft_scan *scan, const struct ft_scan_part *part)
{
    for (size_t p = 0; p < scan->process_count; p++) {
        ft_process_sum_add(&scan->processes[p], &part->processes[p]);
    }
    ft_reuse_marks_append(&scan->marks, &part->marks);
    for (int side = 0; side < 2; side++) {
        scan->access.counts.sequential[side] += part->access_counts.sequential[side];
        scan->access.counts.random[side] += part->access_counts.random[side];
    }
    scan->rows += part->rows;
}

static void *begin_worker(void *queue_untyped)
{
    struct worker *worker = ft_cli_alloc(sizeof(*worker));
    worker->queue = queue_untyped;
    ft_scan_part_init(&worker->part, worker->queue->work);
    worker->sums = worker->queue->calls ? ft_cli_memory(ft_aggregator_create()) : NULL;
    return worker;
}

static void end_worker(void *worker_untyped)
{
    struct worker *worker = worker_untyped;
    add_part(worker->queue->scan, &worker->part);
    ft_scan_part_fini(&worker->part);
    ft_aggregator_destroy(worker->sums);
    free(worker);
}

static void run_workers(struct ft_scan *scan, struct queue *queue, struct ft_progress *progress)
{
    struct ft_workers workers = {.set = queue->work->set,
                                 .where = queue->work->where,
                                 .columns = ft_scan_part_columns(queue->work) | (queue->calls ? FT_CALLS_COLUMNS : 0),
                                 .progress = progress,
                                 .context = queue,
                                 .begin = begin_worker,
                                 .add = add_block,
                                 .in_turn = hand_over,
                                 .end = end_worker};
    scan->bad_blocks = ft_workers_run(&workers);
    ft_access_end(&scan->access);
}

/* All that is left, and then files with several paths. */
static void end_files(struct ft_scan *scan, struct queue *queue, const struct ft_scan *whole)
{
    for (uint32_t p = 0; p < scan->process_count; p++) {
        take_touched(queue, p);
    }
    for (size_t f = 0; f < scan->file_count; f++) {
        scan->files.processes[f] &= ~HAS_PATHS;
    }
    ft_scan_join_files(scan, queue->shared, queue->shared_count, whole);
}

static void init_scan(struct ft_scan *scan, const struct ft_trace_set *set, bool with_entries)
{
    memset(scan, 0, sizeof(*scan));
    if (with_entries) {
        ft_entries_read(&scan->entries, set);
    }
    scan->file_count = scan->entries.count;
    scan->process_count = ft_trace_set_process_count(set);
    ft_file_sums_init(&scan->files, scan->file_count);
    scan->processes = ft_cli_alloc(scan->process_count * sizeof(*scan->processes));
    ft_process_times_init(&scan->times, scan->process_count, ft_trace_set_host_count(set));
    ft_access_init(&scan->access, ft_trace_set_thread_count(set));
}

static size_t most_file_ids(const struct ft_trace_set *set)
{
    size_t most = 0;
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        size_t max = ft_trace_reader_file_max(ft_trace_set_reader(set, r));
        most = max > most ? max : most;
    }
    return most + 2;
}

int ft_scan_read_chosen(struct ft_scan *scan, const struct ft_trace_set *set, unsigned parts,
                        const struct ft_where *where, const struct ft_scan *whole, struct ft_calls *calls,
                        struct ft_progress *progress)
{
    init_scan(scan, set, true);
    struct ft_scan_work common = {.set = set,
                                  .entries = &scan->entries,
                                  .calls = ft_scan_make_calls(set),
                                  .files = &scan->files,
                                  .process_count = scan->process_count,
                                  .place_count = most_file_ids(set),
                                  .where = where,
                                  .parts = parts};
    struct queue queue = {.scan = scan, .work = &common, .calls = calls};
    for (size_t f = 0; f < scan->file_count && parts & FT_SCAN_FILES; f++) {
        scan->files.processes[f] = ft_entry_path_id(&scan->entries, (uint32_t)f) != FT_ENTRY_NONE ? HAS_PATHS : 0;
    }
    if (parts & FT_SCAN_FILES && !where) {
        ft_file_sums_expect_all(&scan->files, scan->file_count);
    }
    ft_scan_endings_init(&queue.endings, set);
    ft_touched_init(&common.touched, scan->process_count, scan->file_count);
    pthread_mutex_init(&common.files_lock, NULL);
    run_workers(scan, &queue, progress);
    if (!where) {
        ft_scan_add_sums(scan, &common);
    }
    if (parts & FT_SCAN_FILES) {
        end_files(scan, &queue, whole);
    }
    pthread_mutex_destroy(&common.files_lock);
    ft_touched_fini(&common.touched);
    ft_scan_endings_fini(&queue.endings);
    ft_scan_free_calls(common.calls, set);
    free(queue.shared);
    return 0;
}

int ft_scan_read_where(struct ft_scan *scan, const struct ft_trace_set *set, unsigned parts,
                       const struct ft_where *where, const struct ft_scan *whole, struct ft_progress *progress)
{
    return ft_scan_read_chosen(scan, set, parts, where, whole, NULL, progress);
}

void ft_scan_read_none(struct ft_scan *scan, const struct ft_trace_set *set)
{
    size_t profiles;
    ft_trace_set_profiles(set, &profiles);
    init_scan(scan, set, profiles > 0);
    scan->rows = ft_trace_set_events(set);
    if (profiles == 0) {
        return;
    }
    struct ft_scan_work common = {.set = set,
                                  .entries = &scan->entries,
                                  .calls = ft_scan_make_calls(set),
                                  .files = &scan->files,
                                  .process_count = scan->process_count,
                                  .place_count = most_file_ids(set)};
    ft_scan_add_sums(scan, &common);
    ft_scan_free_calls(common.calls, set);
}

int ft_scan_read(struct ft_scan *scan, const struct ft_trace_set *set, unsigned parts, struct ft_progress *progress)
{
    return ft_scan_read_where(scan, set, parts, NULL, NULL, progress);
}

void ft_scan_fini(struct ft_scan *scan)
{
    ft_file_sums_fini(&scan->files);
    free(scan->roots);
    ft_entries_fini(&scan->entries);
    ft_reuse_marks_fini(&scan->marks);
    free(scan->processes);
    ft_sweep_fini(&scan->sweep);
    ft_process_times_fini(&scan->times);
    ft_access_fini(&scan->access);
}

size_t ft_scan_count_files(const struct ft_scan *scan)
{
    size_t count = 0;
    for (uint32_t f = 0; f < scan->file_count; f++) {
        count += ft_file_sums_has_events(&scan->files, f);
    }
    return count;
}
