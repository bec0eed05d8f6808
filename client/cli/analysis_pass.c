// SPDX-License-Identifier: MIT
#include "client/cli/analysis_pass.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/cli/analysis_count.h"
#include "client/cli/cli.h"
#include "client/cli/report.h"
#include "proto/calls.h"

enum { WORKERS_MAX = 8, BLOCKS_FOR_THREADS = 4 };

struct block {
    uint32_t reader, block, rows;
    int64_t end_ns; /* since the epoch */
};

/* Blocks are taken by tickets; a worker waits for its turn before it touches what is shared. */
struct work {
    struct ft_pass *pass;
    struct block *blocks;
    size_t count, next_ticket, turn;
    pthread_mutex_t lock;
    pthread_cond_t turned;
};

struct worker {
    struct work *work;
    struct ft_trace_decoder *decoder;
    struct ft_selector selector;
    void *state;
    pthread_t thread;
};

static int later_end_first(const void *a_untyped, const void *b_untyped)
{
    const struct block *a = a_untyped, *b = b_untyped;
    return a->end_ns != b->end_ns ? (a->end_ns < b->end_ns ? 1 : -1) : 0;
}

static struct block *order_blocks(const struct ft_trace_set *set, size_t *count)
{
    const struct ft_trace_set_block *blocks = ft_trace_set_blocks(set, count);
    struct block *ordered = ft_cli_alloc(*count * sizeof(*ordered));
    for (size_t i = 0; i < *count; i++) {
        size_t in_reader;
        const struct ft_trace_block *heads =
            ft_trace_reader_blocks(ft_trace_set_reader(set, blocks[i].reader), &in_reader);
        const struct ft_trace_block *head = &heads[blocks[i].block];
        ordered[i] = (struct block){.reader = blocks[i].reader,
                                    .block = blocks[i].block,
                                    .rows = head->rows,
                                    .end_ns = ft_trace_set_realtime_ns(set, blocks[i].reader, head->end_ns)};
    }
    if (*count > 1) {
        qsort(ordered, *count, sizeof(*ordered), later_end_first);
    }
    return ordered;
}

/* False where the block is damaged. */
static bool add_block(struct worker *worker, const struct block *block)
{
    const struct ft_pass *pass = worker->work->pass;
    struct ft_rows all, chosen, none = {0};
    const struct ft_rows *rows = &none;
    bool is_sound = true;
    if (!pass->where || ft_where_may_match(pass->where, worker->decoder, block->reader, block->block)) {
        uint32_t columns = pass->columns | (pass->where ? ft_where_columns(pass->where) : 0);
        is_sound = ft_cli_decoded(ft_trace_decoder_rows(worker->decoder, ft_trace_set_reader(pass->set, block->reader),
                                                        block->block, columns, &all));
        rows = is_sound ? &all : &none;
    }
    if (pass->where && rows->count > 0) {
        ft_selector_pick(&worker->selector, block->reader, &all, &chosen);
        rows = &chosen;
    }
    if (pass->at) {
        pass->at(worker->state, block->reader, block->block);
    }
    pass->add(worker->state, block->reader, rows);
    return is_sound;
}

static void take_turn(struct worker *worker, size_t ticket, bool is_sound)
{
    struct work *work = worker->work;
    struct ft_pass *pass = work->pass;
    pthread_mutex_lock(&work->lock);
    while (work->turn != ticket) {
        pthread_cond_wait(&work->turned, &work->lock);
    }
    pthread_mutex_unlock(&work->lock);
    if (pass->in_turn) {
        pass->in_turn(worker->state, ticket + 1 < work->count ? work->blocks[ticket + 1].end_ns : INT64_MIN);
    }
    if (pass->progress) {
        ft_progress_step(pass->progress, work->blocks[ticket].rows);
    }
    pthread_mutex_lock(&work->lock);
    pass->bad_blocks += !is_sound;
    work->turn++;
    pthread_cond_broadcast(&work->turned);
    pthread_mutex_unlock(&work->lock);
}

static void *run_worker(void *worker_untyped)
{
    struct worker *worker = worker_untyped;
    struct work *work = worker->work;
    for (;;) {
        pthread_mutex_lock(&work->lock);
        size_t ticket = work->next_ticket++;
        pthread_mutex_unlock(&work->lock);
        if (ticket >= work->count) {
            return NULL;
        }
        take_turn(worker, ticket, add_block(worker, &work->blocks[ticket]));
    }
}

/* How many could be made ready: where memory is short, fewer. */
static int make_workers(struct worker *workers, int wanted, struct work *work)
{
    int made = 0;
    for (; made < wanted; made++) {
        struct worker *worker = &workers[made];
        *worker = (struct worker){.work = work};
        if (ft_trace_decoder_create(&worker->decoder) < 0) {
            break;
        }
        if (work->pass->where && ft_selector_init(&worker->selector, work->pass->where) < 0) {
            ft_trace_decoder_destroy(worker->decoder);
            break;
        }
        worker->state = work->pass->begin(work->pass);
    }
    return made;
}

static void run_workers(struct work *work)
{
    struct worker workers[WORKERS_MAX];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int wanted = processors < 1 || work->count < BLOCKS_FOR_THREADS ? 1 : (int)processors;
    int made = make_workers(workers, wanted < WORKERS_MAX ? wanted : WORKERS_MAX, work), threads = 0;
    if (made == 0) {
        ft_cli_memory(NULL);
    }
    while (threads + 1 < made && pthread_create(&workers[threads].thread, NULL, run_worker, &workers[threads]) == 0) {
        threads++;
    }
    run_worker(&workers[threads]); /* the first without a thread works in this one */
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    for (int i = 0; i < made; i++) {
        work->pass->end(workers[i].state);
        ft_selector_fini(&workers[i].selector);
        ft_trace_decoder_destroy(workers[i].decoder);
    }
    work->pass->bad_blocks += work->count - work->turn;
}

static void add_all_sums(struct ft_pass *pass)
{
    struct ft_trace_decoder *decoder;
    size_t count;
    const struct ft_trace_set_block *blocks = ft_trace_set_profiles(pass->set, &count);
    if (count == 0 || !pass->add_sums || pass->where) {
        return;
    }
    if (!ft_cli_decoded(ft_trace_decoder_create(&decoder))) {
        pass->bad_blocks += count;
        return;
    }
    void *state = pass->begin(pass);
    for (size_t i = 0; i < count; i++) {
        struct ft_rows rows;
        bool is_sound = ft_cli_decoded(ft_trace_decoder_rows(decoder, ft_trace_set_reader(pass->set, blocks[i].reader),
                                                             FT_TRACE_PROFILE | blocks[i].block, FT_COL_ALL, &rows));
        if (is_sound) {
            pass->add_sums(state, blocks[i].reader, &rows);
        }
        pass->bad_blocks += !is_sound;
    }
    pass->end(state);
    ft_trace_decoder_destroy(decoder);
}

static struct ft_pass_call (*make_calls(const struct ft_trace_set *set))[FT_TRACE_CALL_MAX]
{
    size_t readers = ft_trace_set_reader_count(set);
    struct ft_pass_call(*calls)[FT_TRACE_CALL_MAX] = ft_cli_alloc((readers ? readers : 1) * sizeof(*calls));
    for (size_t r = 0; r < readers; r++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(set, r);
        for (unsigned call = 0; call < FT_TRACE_CALL_MAX; call++) {
            const struct ft_trace_call *record = ft_trace_reader_call(reader, call);
            char room[32];
            const char *name = ft_call_name_find(reader, call, room, sizeof(room));
            const char *category = ft_call_name_category(reader, call);
            unsigned group = record ? record->group : (unsigned)ft_call_group(call);
            calls[r][call] = (struct ft_pass_call){.group = (uint8_t)group,
                                                   .stream = (uint8_t)ft_count_of_stream(name, category, group),
                                                   .is_counted = ft_count_has_category(category),
                                                   .is_open = ft_count_is_open(name)};
        }
    }
    return calls;
}

void ft_pass_run(struct ft_pass *pass)
{
    struct work work = {.pass = pass};
    struct ft_pass_call(*calls)[FT_TRACE_CALL_MAX] = make_calls(pass->set);
    work.blocks = order_blocks(pass->set, &work.count);
    pass->calls = calls;
    pass->bad_blocks = 0;
    pthread_mutex_init(&work.lock, NULL);
    pthread_cond_init(&work.turned, NULL);
    run_workers(&work);
    add_all_sums(pass);
    pthread_cond_destroy(&work.turned);
    pthread_mutex_destroy(&work.lock);
    pass->calls = NULL;
    free(calls);
    free(work.blocks);
}

unsigned ft_pass_mask(const struct ft_pass *pass, size_t reader, const struct ft_rows *rows, size_t i)
{
    const struct ft_trace_reader *in = ft_trace_set_reader(pass->set, reader);
    const struct ft_pass_call *call = &pass->calls[reader][rows->call[i] < FT_TRACE_CALL_MAX ? rows->call[i] : 0];
    return call->is_counted ? ft_count_of(call->group, ft_trace_reader_file_class(in, rows->file[i]),
                                          ft_trace_reader_file_class(in, rows->file2[i]))
                            : 0;
}
