// SPDX-License-Identifier: MIT
//
// A simulation: eight ranks on each host compute, then all of them write their parts of one shared file, block by block
// in turn. Rank 0 removes all but the last two, and each rank keeps a log.
#include "tests/generate/generate.h"

#include <fcntl.h>
#include <stdio.h>

enum { RANKS = 8, WRITES_PER_UNIT = 32, UNITS_PER_CHECKPOINT = 16, KEPT = 2 };
enum { LOGS = 0, OPEN = RANKS }; // specials: logs, then the file that each rank writes
#define BLOCK_BYTES (INT64_C(1) << 20)

void gen_checkpoint_begin(struct gen_trace *trace)
{
    char path[64];

    gen_set_files(trace, 20000, 20000, "/data/run/set", "checkpoint.");
    for (unsigned i = 0; i < RANKS; i++) {
        unsigned long long rank = trace->options.host * RANKS + i;
        struct gen_process *process = gen_process_new(trace, NULL, "/home/user/bin/simulate", (int)rank, GEN_START_NS);

        snprintf(path, sizeof(path), "/data/run/log.%llu", rank);
        trace->specials[LOGS + i] = gen_file(trace, path, FT_FILE_KIND_REGULAR, 100 + rank);
        gen_thread_new(trace, process, 0, i);
    }
}

static uint32_t file_of(struct gen_trace *trace, uint64_t number)
{
    return gen_data_file(trace, (size_t)(number % trace->file_count));
}

static void begin(struct gen_trace *trace, struct gen_thread *thread, uint64_t number)
{
    uint32_t file = file_of(trace, number), log = trace->specials[LOGS + thread->index];
    int64_t since = thread->now_ns;

    thread->now_ns += (int64_t)gen_lognormal(&thread->random, 400000000, 32);
    gen_span(trace, thread, "compute", "timestep", since);
    gen_transfer(trace, thread, FT_CALL_ID_fprintf, log, 3, 120, -1, 120);
    trace->specials[OPEN + thread->index] = file;
    gen_open(trace, thread, file, O_RDWR | O_CREAT, 8);
    gen_call(trace, thread, FT_CALL_ID_fstat, file, 8, 0, 450);
    if (thread->index == 0 && trace->options.host == 0)
        gen_transfer(trace, thread, FT_CALL_ID_pwrite64, file, 8, 512, 0, 512);
    thread->since_ns = thread->now_ns;
}

static void end(struct gen_trace *trace, struct gen_thread *thread, uint64_t number)
{
    uint32_t file = trace->specials[OPEN + thread->index];

    gen_call(trace, thread, FT_CALL_ID_fsync, file, 8, 0, 30000000);
    gen_call(trace, thread, FT_CALL_ID_close, file, 8, 0, 800);
    gen_span(trace, thread, "io", "checkpoint", thread->since_ns);
    if (thread->index == 0 && trace->options.host == 0 && number >= KEPT)
        gen_call(trace, thread, FT_CALL_ID_unlink, file_of(trace, number - KEPT), -1, 0, 60000);
}

void gen_checkpoint_step(struct gen_trace *trace, struct gen_thread *thread)
{
    uint64_t number = thread->unit / UNITS_PER_CHECKPOINT, part = thread->unit % UNITS_PER_CHECKPOINT;
    int64_t ranks = (int64_t)(trace->options.hosts * RANKS);
    int64_t rank = (int64_t)(trace->options.host * RANKS + thread->index);

    if (part == 0) {
        thread->context = gen_context(trace, "step", number);
        begin(trace, thread, number);
    }
    for (int64_t i = (int64_t)part * WRITES_PER_UNIT, last = i + WRITES_PER_UNIT; i < last; i++)
        gen_transfer(trace, thread, FT_CALL_ID_pwrite64, trace->specials[OPEN + thread->index], 8, BLOCK_BYTES,
                     512 + (i * ranks + rank) * BLOCK_BYTES, BLOCK_BYTES);
    if (part == UNITS_PER_CHECKPOINT - 1)
        end(trace, thread, number);
}
