// SPDX-License-Identifier: MIT
//
// Anything that may follow anything: for tests that add events up in another way. Calls that take no time or long, errors,
// short reads, transfers between files and pipes, streams whose bytes come late; spans that nest, overlap and touch.
#include "tests/generate/generate.h"

#include <errno.h>
#include <fcntl.h>

enum { PROCESSES = 3, THREADS = 2, OTHERS = 3 };
enum { PIPE, TERMINAL, UNKNOWN }; // specials

void gen_random_begin(struct gen_trace *trace)
{
    gen_set_files(trace, 40, 200, "/data/any", "file");
    trace->specials[PIPE] = gen_file(trace, "pipe:[1]", FT_FILE_KIND_PIPE, 1);
    trace->specials[TERMINAL] = gen_file(trace, "/dev/pts/1", FT_FILE_KIND_TTY, 2);
    trace->specials[UNKNOWN] = gen_file(trace, "/nowhere/at all", FT_FILE_KIND_UNKNOWN, 0);
    for (int p = 0; p < PROCESSES; p++) {
        struct gen_process *process = gen_process_new(trace, NULL, p ? "/bin/other" : "/bin/any", p - 1, GEN_START_NS);

        for (unsigned t = 0; t < THREADS; t++)
            gen_thread_new(trace, process, 0, t);
    }
}

static uint32_t any_file(struct gen_trace *trace, uint64_t bits)
{
    return bits % 5 ? gen_data_file(trace, bits / 5 % trace->file_count) : trace->specials[bits / 5 % OTHERS];
}

// Some size at some place, of which now and then a third is moved alone.
static struct ft_event transfer_of(uint64_t bits, uint16_t call)
{
    int64_t size = (int64_t)(bits >> 8 & 0x3fff), got = bits >> 24 & 3 ? size : size / 3;

    return (struct ft_event){
        .call = call,
        .fd = 4,
        .size = size,
        .offset = (int64_t)(bits >> 30 & 0xfff) * 512,
        .result = got,
        .bytes = (uint64_t)got,
        .has = FT_HAS_SIZE | FT_HAS_OFFSET | FT_HAS_BYTES,
    };
}

static void transfer(struct gen_trace *trace, struct gen_thread *thread, uint64_t bits)
{
    static const uint16_t calls[] = {FT_CALL_ID_read,     FT_CALL_ID_pread64, FT_CALL_ID_write,
                                     FT_CALL_ID_pwrite64, FT_CALL_ID_fread,   FT_CALL_ID_copy_file_range,
                                     FT_CALL_ID_fclose,   FT_CALL_ID_sendfile};
    static const int64_t medians[] = {0, 10, 1000, 50000, 20000000};
    struct ft_event event = transfer_of(bits, calls[bits & 7]);

    event.file = any_file(trace, bits >> 40);
    if (event.call == FT_CALL_ID_copy_file_range || event.call == FT_CALL_ID_sendfile)
        event.file2 = any_file(trace, bits >> 50);
    gen_emit(trace, thread, event, medians[(bits >> 26) % 5]);
}

// What an asynchronous request came to, which was a read of the first file or a write to the second.
static void request(struct gen_trace *trace, struct gen_thread *thread, uint64_t bits)
{
    uint32_t file = any_file(trace, bits >> 40);
    bool is_write = bits & 1;
    struct ft_event event = transfer_of(bits, bits & 2 ? FT_CALL_ID_aio_return : FT_CALL_ID_aio_return64);

    *(is_write ? &event.file2 : &event.file) = file;
    gen_emit(trace, thread, event, 400);
}

// Of up to 40 ms that are past, or of no time at all.
static void span(struct gen_trace *trace, struct gen_thread *thread, uint64_t bits)
{
    static const char *const categories[] = {"compute", "io", "data", "other"};
    int64_t back = bits >> 8 & 7 ? (int64_t)(bits >> 16 & 0xffffff) * 2 : 0;

    gen_span(trace, thread, categories[bits & 3], "span", thread->now_ns - back);
}

void gen_random_step(struct gen_trace *trace, struct gen_thread *thread)
{
    uint64_t bits = gen_random(&thread->random);

    if (bits % 16 == 0)
        thread->context = gen_context(trace, "epoch", bits >> 4 & 3);
    bits = gen_random(&thread->random);
    switch (bits % 11) {
    case 0:
        gen_open(trace, thread, any_file(trace, bits >> 8), O_RDWR, 4);
        break;
    case 1:
        gen_fail(trace, thread, FT_CALL_ID_open64, any_file(trace, bits >> 8), bits >> 20 & 1 ? ENOENT : EACCES);
        break;
    case 2:
        gen_call(trace, thread, bits >> 20 & 1 ? FT_CALL_ID_fstat : FT_CALL_ID_close, any_file(trace, bits >> 8), 4, 0,
                 300);
        break;
    case 3:
    case 4:
        span(trace, thread, gen_random(&thread->random));
        break;
    case 5:
        request(trace, thread, gen_random(&thread->random));
        break;
    default:
        transfer(trace, thread, gen_random(&thread->random));
    }
    if (bits >> 60 == 0)
        thread->now_ns += (int64_t)(bits >> 30 & 0xffffff);
}
