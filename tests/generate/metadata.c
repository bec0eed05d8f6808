// SPDX-License-Identifier: MIT
//
// A storm of metadata calls, as compilers, package managers and interpreters that start make them: short processes that
// look for files where they are not, read small ones, walk folders, write and remove.
#include "tests/generate/generate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

enum { THREADS = 16, EVENTS_PER_PROCESS = 4000, LOOKED_FOR = 3 };
enum { READER, WALKER, WRITER, ROLES };

void gen_metadata_begin(struct gen_trace *trace)
{
    gen_set_files(trace, 50, 1000000, "/data/site-packages/package", "module");
    for (unsigned i = 0; i < THREADS; i++) {
        struct gen_process *process = gen_process_new(trace, NULL, "/usr/bin/python3.11", -1, GEN_START_NS);

        gen_thread_new(trace, process, i % ROLES, i);
    }
}

// A folder that files are looked for in, or walked.
static uint32_t folder(struct gen_trace *trace, unsigned number)
{
    uint32_t *id = &trace->specials[number % GEN_SPECIALS];
    char path[64];

    if (*id == 0) {
        snprintf(path, sizeof(path), "/data/lib%03u", number % GEN_SPECIALS);
        *id = gen_file(trace, path, FT_FILE_KIND_DIRECTORY, 100 + number % GEN_SPECIALS);
    }
    return *id;
}

// Some files are asked for much more often than others.
static size_t pick(const struct gen_trace *trace, struct gen_thread *thread)
{
    uint64_t bits = gen_random(&thread->random), all = trace->file_count;

    return (size_t)(bits >> 8) % (bits & 1 ? all : bits & 2 ? 1 + all / 16 : 1 + all / 256);
}

static void read_small(struct gen_trace *trace, struct gen_thread *thread)
{
    size_t i = pick(trace, thread);
    uint64_t state = gen_mix(trace->options.seed, i);
    int64_t size = (int64_t)gen_lognormal(&state, 6000, 300);
    uint32_t file = gen_data_file(trace, i);

    for (unsigned k = 0; k < LOOKED_FOR; k++)
        gen_fail(trace, thread, FT_CALL_ID_stat, folder(trace, (unsigned)(i + k)), ENOENT);
    gen_call(trace, thread, FT_CALL_ID_stat, file, -1, 0, 1800);
    gen_open(trace, thread, file, O_CLOEXEC, 4);
    gen_call(trace, thread, FT_CALL_ID_fstat, file, 4, 0, 400);
    gen_transfer(trace, thread, FT_CALL_ID_read, file, 4, size + 1, 0, size);
    gen_transfer(trace, thread, FT_CALL_ID_read, file, 4, 1, size, 0);
    gen_call(trace, thread, FT_CALL_ID_close, file, 4, 0, 500);
}

static void walk(struct gen_trace *trace, struct gen_thread *thread)
{
    uint64_t first = gen_random(&thread->random) % trace->file_count;
    uint32_t directory = folder(trace, (unsigned)first);

    gen_call(trace, thread, FT_CALL_ID_opendir, directory, -1, 0, 9000);
    for (uint64_t i = 0; i < 40; i++) {
        size_t at = (size_t)((first + i) % trace->file_count);

        gen_call(trace, thread, FT_CALL_ID_readdir, directory, 4, 0, 120);
        gen_call(trace, thread, FT_CALL_ID_fstatat, gen_data_file(trace, at), -1, 0, 1500);
    }
    gen_call(trace, thread, FT_CALL_ID_closedir, directory, 4, 0, 900);
}

static void write_small(struct gen_trace *trace, struct gen_thread *thread)
{
    int64_t size = (int64_t)gen_lognormal(&thread->random, 3000, 300);
    uint32_t file = gen_data_file(trace, pick(trace, thread));

    gen_open(trace, thread, file, O_WRONLY | O_CREAT | O_TRUNC, 4);
    gen_transfer(trace, thread, FT_CALL_ID_write, file, 4, size, 0, size);
    gen_call(trace, thread, FT_CALL_ID_close, file, 4, 0, 2500);
    if (thread->unit % 4 == 0)
        gen_call(trace, thread, FT_CALL_ID_unlink, file, -1, 0, 15000);
}

void gen_metadata_step(struct gen_trace *trace, struct gen_thread *thread)
{
    static const char *const programs[] = {"/usr/bin/python3.11", "/usr/bin/find", "/usr/bin/tar"};

    if (thread->made >= EVENTS_PER_PROCESS)
        gen_thread_restart(trace, thread, programs[thread->role]);
    if (thread->role == READER)
        read_small(trace, thread);
    else if (thread->role == WALKER)
        walk(trace, thread);
    else
        write_small(trace, thread);
}
