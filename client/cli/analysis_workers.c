// SPDX-License-Identifier: MIT
#include "client/cli/analysis_workers.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/cli/cli.h"

enum { WORKERS_MAX = 8, BLOCKS_FOR_THREADS = 4 };

/* Blocks are taken by tickets; a worker waits for its turn before it touches what is shared. */
struct queue {
    const struct ft_workers *workers;
    const struct ft_scan_block *blocks;
    size_t count, next_ticket, turn;
    uint64_t bad_blocks;
    pthread_mutex_t lock;
    pthread_cond_t turned;
};

struct worker {
    struct queue *queue;
    struct ft_trace_decoder *decoder;
    struct ft_selector selector; /* .where NULL: all events */
    void *state;
    pthread_t thread;
};

/* False where the block is damaged. */
static bool add_block(struct worker *worker, const struct ft_scan_block *block)
{
    const struct ft_workers *workers = worker->queue->workers;
    const struct ft_where *where = workers->where;
    struct ft_rows rows = {0}, all;
    if (where && !ft_where_may_match(where, worker->decoder, block->reader, block->block)) {
        workers->add(worker->state, block, &rows);
        return true;
    }
    uint32_t columns = workers->columns | (where ? ft_where_columns(where) : 0);
    if (!ft_cli_decoded(ft_trace_decoder_rows(worker->decoder, ft_trace_set_reader(workers->set, block->reader),
                                              block->block, columns, &all))) {
        workers->add(worker->state, block, NULL);
        return false;
    }
    if (where) {
        ft_selector_pick(&worker->selector, block->reader, &all, &rows);
    }
    workers->add(worker->state, block, where ? &rows : &all);
    return true;
}

static void take_turn(struct worker *worker, size_t ticket, bool is_sound)
{
    struct queue *queue = worker->queue;
    const struct ft_workers *workers = queue->workers;
    struct ft_workers_turn turn = {.block = &queue->blocks[ticket],
                                   .watermark_ns =
                                       ticket + 1 < queue->count ? queue->blocks[ticket + 1].end_ns : INT64_MIN,
                                   .is_sound = is_sound};
    pthread_mutex_lock(&queue->lock);
    while (queue->turn != ticket) {
        pthread_cond_wait(&queue->turned, &queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
    if (workers->in_turn) {
        workers->in_turn(worker->state, &turn);
    }
    if (workers->progress) {
        ft_progress_step(workers->progress, turn.block->rows);
    }
    pthread_mutex_lock(&queue->lock);
    queue->bad_blocks += !is_sound;
    queue->turn++;
    pthread_cond_broadcast(&queue->turned);
    pthread_mutex_unlock(&queue->lock);
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
        take_turn(worker, ticket, add_block(worker, &queue->blocks[ticket]));
    }
}

/* How many could be made ready: where memory is short, fewer. */
static int make_workers(struct worker *made, int wanted, struct queue *queue)
{
    const struct ft_workers *workers = queue->workers;
    int count = 0;
    for (; count < wanted; count++) {
        struct worker *worker = &made[count];
        *worker = (struct worker){.queue = queue};
        if (ft_trace_decoder_create(&worker->decoder) < 0) {
            break;
        }
        if (workers->where && ft_selector_init(&worker->selector, workers->where) < 0) {
            ft_trace_decoder_destroy(worker->decoder);
            break;
        }
        worker->state = workers->begin(workers->context);
    }
    return count;
}

static void run_workers(struct queue *queue)
{
    struct worker made[WORKERS_MAX];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int wanted = processors < 1 || queue->count < BLOCKS_FOR_THREADS ? 1
                 : processors > WORKERS_MAX                          ? WORKERS_MAX
                                                                     : (int)processors;
    int count = make_workers(made, wanted, queue), threads = 0;
    if (count == 0) {
        ft_cli_memory(NULL);
    }
    while (threads + 1 < count && pthread_create(&made[threads].thread, NULL, work, &made[threads]) == 0) {
        threads++;
    }
    work(&made[threads]); /* the first without a thread works in this one */
    for (int i = 0; i < threads; i++) {
        pthread_join(made[i].thread, NULL);
    }
    for (int i = 0; i < count; i++) {
        queue->workers->end(made[i].state);
        ft_selector_fini(&made[i].selector);
        ft_trace_decoder_destroy(made[i].decoder);
    }
}

uint64_t ft_workers_run(const struct ft_workers *workers)
{
    struct queue queue = {.workers = workers};
    struct ft_scan_block *blocks = ft_scan_order_blocks(workers->set, &queue.count);
    queue.blocks = blocks;
    pthread_mutex_init(&queue.lock, NULL);
    pthread_cond_init(&queue.turned, NULL);
    run_workers(&queue);
    pthread_cond_destroy(&queue.turned);
    pthread_mutex_destroy(&queue.lock);
    free(blocks);
    return queue.bad_blocks + (queue.count - queue.turn);
}
