// SPDX-License-Identifier: MIT
//
// One thread: loops of preads, tar, and a job that computes only when it has read.
#include "tests/generate/generate.h"

#include <fcntl.h>

#define PAGE_BYTES 4096
#define RECORD_BYTES 10240

void gen_single_begin(struct gen_trace *trace)
{
    gen_set_files(trace, 1000, 4096, "/usr/share/doc/folder", "file");
    gen_thread_new(trace, gen_process_new(trace, NULL, "/usr/bin/tar", -1, GEN_START_NS), 0, 0);
}

static void read_page(struct gen_trace *trace, struct gen_thread *thread, int64_t offset)
{
    struct ft_event event = {.call = FT_CALL_ID_pread64,
                             .file = gen_data_file(trace, 0),
                             .fd = 3,
                             .size = PAGE_BYTES,
                             .offset = offset,
                             .result = PAGE_BYTES,
                             .bytes = PAGE_BYTES,
                             .has = FT_HAS_SIZE | FT_HAS_OFFSET | FT_HAS_BYTES};

    gen_emit(trace, thread, event, 1000);
}

void gen_same_step(struct gen_trace *trace, struct gen_thread *thread)
{
    read_page(trace, thread, 0);
}

void gen_sequential_step(struct gen_trace *trace, struct gen_thread *thread)
{
    read_page(trace, thread, (int64_t)thread->unit * PAGE_BYTES);
}

// Each file opened, looked at, read and closed, the archive written in records.
void gen_tar_step(struct gen_trace *trace, struct gen_thread *thread)
{
    uint32_t archive = gen_data_file(trace, 0);
    uint32_t file = gen_data_file(trace, 1 + thread->unit % (trace->file_count - 1));
    int64_t size = (int64_t)(gen_random(&thread->random) % 20000);

    gen_call(trace, thread, FT_CALL_ID_lstat, file, -1, 0, 2000);
    gen_open(trace, thread, file, O_CLOEXEC, 4);
    gen_call(trace, thread, FT_CALL_ID_fstat, file, 4, 0, 1000);
    for (int64_t at = 0; at < size; at += RECORD_BYTES) {
        int64_t got = size - at < RECORD_BYTES ? size - at : RECORD_BYTES;

        int64_t written = (int64_t)thread->position / RECORD_BYTES * RECORD_BYTES;

        gen_transfer(trace, thread, FT_CALL_ID_read, file, 4, got, at, got);
        thread->position += (uint64_t)got;
        for (; written + RECORD_BYTES <= (int64_t)thread->position; written += RECORD_BYTES)
            gen_transfer(trace, thread, FT_CALL_ID_write, archive, 3, RECORD_BYTES, written, RECORD_BYTES);
    }
    gen_call(trace, thread, FT_CALL_ID_close, file, 4, 0, 1000);
}

// Reads a batch, computes with it, reads the next one.
void gen_serial_step(struct gen_trace *trace, struct gen_thread *thread)
{
    int64_t since;

    for (int64_t i = 0; i < 16; i++)
        gen_transfer(trace, thread, FT_CALL_ID_pread64, gen_data_file(trace, 0), 3, 1 << 20,
                     ((int64_t)thread->unit * 16 + i) << 20, 1 << 20);
    since = thread->now_ns;
    thread->now_ns += (int64_t)gen_lognormal(&thread->random, 8000000, 64);
    gen_span(trace, thread, "compute", "step", since);
}
