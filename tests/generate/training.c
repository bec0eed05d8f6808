// SPDX-License-Identifier: MIT
//
// A training job: on each host four ranks, each with a main thread, a thread that copies batches, and four loader
// workers (processes). Even workers read one sample a file, odd ones records out of large shards; every epoch shuffles.
#include "tests/generate/generate.h"

#include <fcntl.h>
#include <stdio.h>

enum { RANKS = 4, WORKERS = 4, SHARDS = 64, BATCH = 32, STEPS_PER_CHECKPOINT = 500, CHECKPOINT_WRITES = 128 };
enum { MAIN, COPIER, WORKER };
enum { PIPE = SHARDS, CHECKPOINT, LOG }; // specials behind the shards
#define SHARD_BYTES (INT64_C(1) << 32)

void gen_training_begin(struct gen_trace *trace)
{
    int first_rank = (int)trace->options.host * RANKS;
    char path[64];

    gen_set_files(trace, 60, 1000000, "/data/train/class", "image");
    for (unsigned i = 0; i < SHARDS; i++) {
        snprintf(path, sizeof(path), "/data/shards/train-%05u.rec", i);
        trace->specials[i] = gen_file(trace, path, FT_FILE_KIND_REGULAR, 500 + i);
    }
    trace->specials[PIPE] = gen_file(trace, "pipe:[4711]", FT_FILE_KIND_PIPE, 4711);
    trace->specials[LOG] = gen_file(trace, "/data/run/train.log", FT_FILE_KIND_REGULAR, 900);
    for (unsigned rank = 0; rank < RANKS; rank++) {
        struct gen_process *process =
            gen_process_new(trace, NULL, "/usr/bin/python3.11", first_rank + (int)rank, GEN_START_NS);

        gen_thread_new(trace, process, MAIN, rank);
        gen_thread_new(trace, process, COPIER, rank);
        for (unsigned worker = 0; worker < WORKERS; worker++) {
            struct gen_process *child =
                gen_process_new(trace, process, "/usr/bin/python3.11", first_rank + (int)rank, GEN_START_NS);

            gen_thread_new(trace, child, WORKER, rank * WORKERS + worker);
        }
    }
}

static void set_epoch(struct gen_trace *trace, struct gen_thread *thread, uint64_t epoch)
{
    uint32_t *context = &trace->epoch_contexts[epoch % 64];

    if (*context == 0 || epoch >= 64)
        *context = gen_context(trace, "epoch", epoch);
    thread->context = *context;
}

// Where an epoch's shuffle puts the nth sample: steps of a length that has no divisor in common with the count.
static size_t shuffled(const struct gen_trace *trace, uint64_t epoch, uint64_t n)
{
    uint64_t count = trace->file_count, mixed = gen_mix(trace->options.seed, epoch);
    uint64_t step = mixed % count | 1, a = count, b;

    for (;; step += 2) {
        for (a = count, b = step; b;) {
            uint64_t rest = a % b;

            a = b;
            b = rest;
        }
        if (a == 1)
            break;
    }
    return (size_t)((n * (step % count) + mixed % count) % count);
}

// As Python reads a whole file.
static void read_sample(struct gen_trace *trace, struct gen_thread *thread, size_t sample)
{
    uint32_t file = gen_data_file(trace, sample);
    uint64_t state = gen_mix(trace->options.seed, sample);
    int64_t size = (int64_t)gen_lognormal(&state, 110000, 200);

    gen_open(trace, thread, file, O_CLOEXEC, 12);
    gen_call(trace, thread, FT_CALL_ID_fstat, file, 12, 0, 450);
    gen_call(trace, thread, FT_CALL_ID_lseek64, file, 12, 0, 300);
    gen_transfer(trace, thread, FT_CALL_ID_read, file, 12, size + 1, 0, size);
    gen_transfer(trace, thread, FT_CALL_ID_read, file, 12, 1, size, 0);
    gen_call(trace, thread, FT_CALL_ID_close, file, 12, 0, 600);
}

static void read_records(struct gen_trace *trace, struct gen_thread *thread)
{
    uint64_t bits = gen_random(&thread->random);
    unsigned shard = (unsigned)(bits % SHARDS);
    int64_t offset = (int64_t)(bits >> 8) % SHARD_BYTES, size = (int64_t)gen_lognormal(&thread->random, 9000, 256);

    for (int i = 0; i < 6; i++) {
        gen_transfer(trace, thread, FT_CALL_ID_pread64, trace->specials[shard], 20 + (int)shard, size, offset, size);
        offset += size;
    }
}

static void step_worker(struct gen_trace *trace, struct gen_thread *thread)
{
    uint64_t readers = trace->options.hosts * RANKS * WORKERS;
    uint64_t n = thread->unit * readers + trace->options.host * RANKS * WORKERS + thread->index;
    uint64_t epoch = n / trace->file_count;

    if (thread->unit % BATCH == 0) {
        set_epoch(trace, thread, epoch);
        thread->since_ns = thread->now_ns;
    }
    if (thread->index % 2 == 0)
        read_sample(trace, thread, shuffled(trace, epoch, n % trace->file_count));
    else
        read_records(trace, thread);
    thread->now_ns += (int64_t)gen_lognormal(&thread->random, 1500000, 100); // decodes it
    if (thread->unit % BATCH == BATCH - 1) {
        gen_span(trace, thread, "data", "fetch", thread->since_ns);
        gen_transfer(trace, thread, FT_CALL_ID_write, trace->specials[PIPE], 5, 612, -1, 612);
    }
}

static void write_checkpoint(struct gen_trace *trace, struct gen_thread *thread)
{
    uint64_t number = thread->unit / STEPS_PER_CHECKPOINT;
    uint32_t temporary, file;
    char path[64];

    snprintf(path, sizeof(path), "/data/run/step%07llu.pt", (unsigned long long)thread->unit);
    file = gen_file(trace, path, FT_FILE_KIND_REGULAR, 2000 + number);
    temporary = gen_file(trace, "/data/run/.tmp.pt", FT_FILE_KIND_REGULAR, 2000 + number);
    gen_open(trace, thread, temporary, O_WRONLY | O_CREAT | O_TRUNC, 9);
    for (int64_t i = 0; i < CHECKPOINT_WRITES; i++)
        gen_transfer(trace, thread, FT_CALL_ID_write, temporary, 9, 1 << 20, i << 20, 1 << 20);
    gen_call(trace, thread, FT_CALL_ID_fsync, temporary, 9, 0, 20000000);
    gen_call(trace, thread, FT_CALL_ID_close, temporary, 9, 0, 900);
    gen_emit(trace, thread, (struct ft_event){.call = FT_CALL_ID_rename, .file = temporary, .file2 = file, .fd = -1},
             30000);
}

static void step_main(struct gen_trace *trace, struct gen_thread *thread)
{
    int64_t since = thread->now_ns;

    gen_transfer(trace, thread, FT_CALL_ID_read, trace->specials[PIPE], 5, 4, -1, 4);
    gen_transfer(trace, thread, FT_CALL_ID_read, trace->specials[PIPE], 5, 608, -1, 608);
    thread->now_ns += (int64_t)gen_lognormal(&thread->random, 9000000, 64);
    gen_span(trace, thread, "compute", "forward", since);
    since = thread->now_ns;
    thread->now_ns += (int64_t)gen_lognormal(&thread->random, 18000000, 64);
    gen_span(trace, thread, "compute", "backward", since);
    gen_counter(trace, thread, "loss", gen_random(&thread->random) % 1000);
    if (thread->unit % 50 == 49)
        gen_transfer(trace, thread, FT_CALL_ID_fprintf, trace->specials[LOG], 7, 80, -1, 80);
    if (thread->index == 0 && trace->options.host == 0 &&
        thread->unit % STEPS_PER_CHECKPOINT == STEPS_PER_CHECKPOINT - 1)
        write_checkpoint(trace, thread);
}

void gen_training_step(struct gen_trace *trace, struct gen_thread *thread)
{
    if (thread->role == WORKER) {
        step_worker(trace, thread);
    } else if (thread->role == MAIN) {
        step_main(trace, thread);
    } else {
        gen_transfer(trace, thread, FT_CALL_ID_read, trace->specials[PIPE], 6, 8, -1, 8);
        thread->now_ns += (int64_t)gen_lognormal(&thread->random, 25000000, 64);
    }
}
