// SPDX-License-Identifier: MIT
//
// Four processes of one program on each host, each with a file of its own: evenly, with a straggler, with one that reads for all.
#include "tests/generate/generate.h"

enum { PEERS = 4 };
#define PIECE_BYTES (INT64_C(1) << 17)

void gen_peers_begin(struct gen_trace *trace)
{
    gen_set_files(trace, 20000, PEERS, "/data/parts", "part");
    for (unsigned i = 0; i < PEERS; i++) {
        int rank = (int)(trace->options.host * PEERS + i);

        gen_thread_new(trace, gen_process_new(trace, NULL, "/home/user/bin/work", rank, GEN_START_NS), 0, i);
    }
}

// A piece behind the one before, then something else for a while.
static void read_piece(struct gen_trace *trace, struct gen_thread *thread, int64_t median_ns)
{
    struct ft_event event = {.call = FT_CALL_ID_pread64,
                             .file = gen_data_file(trace, thread->index),
                             .fd = 3,
                             .size = PIECE_BYTES,
                             .offset = (int64_t)thread->unit * PIECE_BYTES,
                             .result = PIECE_BYTES,
                             .bytes = PIECE_BYTES,
                             .has = FT_HAS_SIZE | FT_HAS_OFFSET | FT_HAS_BYTES};

    gen_emit(trace, thread, event, median_ns);
    thread->now_ns += (int64_t)gen_lognormal(&thread->random, 200000, 64);
}

void gen_even_step(struct gen_trace *trace, struct gen_thread *thread)
{
    read_piece(trace, thread, 50000);
}

void gen_straggler_step(struct gen_trace *trace, struct gen_thread *thread)
{
    read_piece(trace, thread, thread->index == 0 ? 500000 : 50000);
}

void gen_lone_step(struct gen_trace *trace, struct gen_thread *thread)
{
    if (thread->index == 0) {
        read_piece(trace, thread, 100000);
        return;
    }
    gen_call(trace, thread, FT_CALL_ID_fstat, gen_data_file(trace, thread->index), 3, 0, 400);
    thread->now_ns += (int64_t)gen_lognormal(&thread->random, 2000000, 64);
}
