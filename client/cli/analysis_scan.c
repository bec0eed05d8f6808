// SPDX-License-Identifier: MIT
#include "client/cli/analysis_scan.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/analysis_scan_part.h"
#include "client/cli/cli.h"

enum { WORKERS_MAX = 8 };

struct ordered_block {
    uint32_t reader, block, rows;
    int64_t end_ns; /* since the epoch */
};

/* Blocks are taken in order by tickets; a worker waits for its turn before it touches what is shared. */
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t turned;
    const struct ordered_block *blocks;
    size_t count, next_ticket, turn;
    struct ft_sweep *sweep;
    struct ft_progress *progress;
    uint64_t bad_blocks;
};

struct worker {
    struct queue *queue;
    struct ft_scan_part part;
    struct ft_trace_decoder *decoder;
    struct ft_selector selector; /* .where NULL: all events */
    pthread_t thread;
};

static int later_end_first(const void *a_untyped, const void *b_untyped)
{
    const struct ordered_block *a = a_untyped, *b = b_untyped;
    return a->end_ns != b->end_ns ? (a->end_ns < b->end_ns ? 1 : -1) : 0;
}

static struct ordered_block *order_blocks(const struct ft_trace_set *set, size_t *count)
{
    const struct ft_trace_set_block *blocks = ft_trace_set_blocks(set, count);
    struct ordered_block *ordered = ft_cli_alloc(*count * sizeof(*ordered));
    for (size_t i = 0; i < *count; i++) {
        size_t in_reader;
        const struct ft_trace_block *heads =
            ft_trace_reader_blocks(ft_trace_set_reader(set, blocks[i].reader), &in_reader);
        const struct ft_trace_block *head = &heads[blocks[i].block];
        ordered[i] = (struct ordered_block){
            .reader = blocks[i].reader,
            .block = blocks[i].block,
            .rows = head->rows,
            .end_ns = ft_trace_set_realtime_ns(set, blocks[i].reader, head->end_ns),
        };
    }
    if (*count > 1) {
        qsort(ordered, *count, sizeof(*ordered), later_end_first);
    }
    return ordered;
}

/* In turn: the block's intervals go into the sweep. `is_good`: the block could be decoded. */
static void hand_over(struct worker *worker, size_t ticket, bool is_good)
{
    struct queue *queue = worker->queue;
    pthread_mutex_lock(&queue->lock);
    while (queue->turn != ticket) {
        pthread_cond_wait(&queue->turned, &queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
    for (int kind = 0; is_good && kind < FT_SWEEP_COUNT; kind++) {
        ft_sweep_add(queue->sweep, (enum ft_sweep_kind)kind, &worker->part.lists[kind]);
    }
    ft_sweep_settle(queue->sweep, ticket + 1 < queue->count ? queue->blocks[ticket + 1].end_ns : INT64_MIN);
    if (queue->progress) {
        ft_progress_step(queue->progress, queue->blocks[ticket].rows);
    }
    pthread_mutex_lock(&queue->lock);
    queue->bad_blocks += !is_good;
    queue->turn++;
    pthread_cond_broadcast(&queue->turned);
    pthread_mutex_unlock(&queue->lock);
}

/* Adds a block up; false where it is damaged. */
static bool add_block(struct worker *worker, const struct ordered_block *block)
{
    const struct ft_scan_work *common = worker->part.work;
    const struct ft_where *where = worker->selector.where;
    uint32_t columns = ft_scan_part_columns(common->parts);
    struct ft_rows rows, all;
    if (where && !ft_where_may_match(where, worker->decoder, block->reader, block->block)) {
        ft_scan_part_add(&worker->part, block->reader, &(struct ft_rows){0});
        return true;
    }
    columns |= where ? ft_where_columns(where) : 0;
    if (ft_trace_decoder_rows(worker->decoder, ft_trace_set_reader(common->set, block->reader), block->block, columns,
                              &all) < 0) {
        return false;
    }
    if (where) {
        ft_selector_pick(&worker->selector, block->reader, &all, &rows);
    }
    ft_scan_part_add(&worker->part, block->reader, where ? &rows : &all);
    return true;
}

static void *work(void *worker_untyped)
{
    struct worker *worker = worker_untyped;
    struct queue *queue = worker->queue;
    for (;;) {
        pthread_mutex_lock(&queue->lock);
        size_t ticket = queue->next_ticket++;
        pthread_mutex_unlock(&queue->lock);
        if (ticket >= queue->count) {
            return NULL;
        }
        hand_over(worker, ticket, add_block(worker, &queue->blocks[ticket]));
    }
}

static void add_process_sum(struct ft_process_sum *to, const struct ft_process_sum *from)
{
    to->events += from->events;
    to->read_bytes += from->read_bytes;
    to->written_bytes += from->written_bytes;
    to->io_time_ns += from->io_time_ns;
    to->kernel_like_bytes += from->kernel_like_bytes;
}

/* One part's sums go into the whole. */
static void add_part(struct ft_scan *scan, const struct ft_scan_part *part)
{
    for (size_t p = 0; p < scan->process_count; p++) {
        add_process_sum(&scan->processes[p], &part->processes[p]);
    }
    ft_reuse_marks_append(&scan->marks, &part->marks);
    scan->rows += part->rows;
}

static int start_workers(struct worker *workers, int wanted, struct queue *queue, struct ft_scan_work *common)
{
    int started = 0;
    for (int i = 0; i < wanted; i++) {
        struct worker *worker = &workers[i];
        if (ft_trace_decoder_create(&worker->decoder) < 0) {
            break;
        }
        worker->queue = queue;
        if (common->where) {
            ft_selector_init(&worker->selector, common->where);
        }
        ft_scan_part_init(&worker->part, common);
        /* The last one works in this thread. */
        if (i + 1 < wanted && pthread_create(&worker->thread, NULL, work, worker) != 0) {
            started++;
            break;
        }
        started++;
    }
    return started;
}

static void run_workers(struct ft_scan *scan, struct queue *queue, struct ft_scan_work *common)
{
    struct worker workers[WORKERS_MAX];
    memset(workers, 0, sizeof(workers));
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int wanted = processors < 1 ? 1 : processors > WORKERS_MAX ? WORKERS_MAX : (int)processors;
    wanted = queue->count < 4 ? 1 : wanted;
    int started = start_workers(workers, wanted, queue, common);
    for (int i = started - 1; i >= 0; i--) {
        if (i == started - 1) {
            work(&workers[i]);
        } else {
            pthread_join(workers[i].thread, NULL);
        }
    }
    for (int i = 0; i < started; i++) {
        add_part(scan, &workers[i].part);
        ft_scan_part_fini(&workers[i].part);
        ft_selector_fini(&workers[i].selector);
        ft_trace_decoder_destroy(workers[i].decoder);
    }
    scan->bad_blocks = queue->bad_blocks + (queue->count - queue->turn);
}

int ft_scan_read_where(struct ft_scan *scan, const struct ft_trace_set *set, unsigned parts,
                       const struct ft_where *where, const struct ft_scan *whole, struct ft_progress *progress)
{
    memset(scan, 0, sizeof(*scan));
    ft_entries_read(&scan->entries, set);
    scan->file_count = scan->entries.count;
    scan->process_count = ft_trace_set_process_count(set);
    scan->files = ft_cli_alloc(scan->file_count * sizeof(*scan->files));
    scan->processes = ft_cli_alloc(scan->process_count * sizeof(*scan->processes));
    for (size_t f = 0; f < scan->file_count; f++) {
        scan->files[f].first_ns = INT64_MAX;
    }
    struct queue queue = {.sweep = &scan->sweep, .progress = progress};
    struct ordered_block *blocks = order_blocks(set, &queue.count);
    struct ft_scan_work common = {.set = set,
                                  .entries = &scan->entries,
                                  .calls = ft_scan_make_calls(set),
                                  .files = scan->files,
                                  .process_count = scan->process_count,
                                  .where = where,
                                  .parts = parts};
    queue.blocks = blocks;
    ft_touched_init(&common.touched, scan->process_count, scan->file_count);
    pthread_mutex_init(&common.files_lock, NULL);
    pthread_mutex_init(&queue.lock, NULL);
    pthread_cond_init(&queue.turned, NULL);
    run_workers(scan, &queue, &common);
    if (parts & FT_SCAN_FILES) {
        ft_scan_join_files(scan, &common.touched, whole);
    }
    pthread_mutex_destroy(&common.files_lock);
    ft_touched_fini(&common.touched);
    pthread_cond_destroy(&queue.turned);
    pthread_mutex_destroy(&queue.lock);
    free(common.calls);
    free(blocks);
    return 0;
}

int ft_scan_read(struct ft_scan *scan, const struct ft_trace_set *set, unsigned parts, struct ft_progress *progress)
{
    return ft_scan_read_where(scan, set, parts, NULL, NULL, progress);
}

void ft_scan_fini(struct ft_scan *scan)
{
    free(scan->files);
    free(scan->roots);
    ft_entries_fini(&scan->entries);
    ft_reuse_marks_fini(&scan->marks);
    free(scan->processes);
    ft_sweep_fini(&scan->sweep);
}

size_t ft_scan_count_files(const struct ft_scan *scan)
{
    size_t count = 0;
    for (size_t f = 0; f < scan->file_count; f++) {
        count += scan->files[f].events > 0;
    }
    return count;
}
