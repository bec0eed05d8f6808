// SPDX-License-Identifier: MIT
//
// Numbers by chance, files, and ordinary calls: what models are made of.
#include "tests/generate/generate.h"

#include <stdio.h>
#include <stdlib.h>

uint64_t gen_mix(uint64_t a, uint64_t b)
{
    uint64_t mixed = a * UINT64_C(0x9e3779b97f4a7c15) + b;

    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

uint64_t gen_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return gen_mix(0, *state);
}

// Whole numbers alone, so that every machine makes the same trace.
uint64_t gen_lognormal(uint64_t *state, uint64_t median, unsigned spread)
{
    uint64_t bits = gen_random(state);
    int64_t sum = (int64_t)((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48)) - 131070;
    int64_t exponent = sum * spread * 256 / 37837; // of 2, in 65536ths; 37837 is the sum's deviation
    int64_t octaves = exponent >> 16, rest = exponent & 0xffff;
    // 2^rest to 0.3 %
    uint64_t factor = 65536 + (uint64_t)(rest * (43024 + (22512 * rest >> 16)) >> 16);
    uint64_t value = median * factor >> 16;

    return octaves >= 0 ? value << (octaves < 16 ? octaves : 16) : value >> (octaves > -16 ? -octaves : 16);
}

void gen_set_files(struct gen_trace *trace, uint64_t events_per_file, uint64_t most, const char *folder,
                   const char *file)
{
    uint64_t count = trace->options.files ? trace->options.files : trace->emit_max / events_per_file;

    if (!trace->options.files && count > most)
        count = most;
    trace->file_count = count < 16 ? 16 : (size_t)count;
    trace->folder_name = folder;
    trace->file_name = file;
    trace->files = calloc(trace->file_count, sizeof(*trace->files));
    if (!trace->files)
        gen_die("memory");
}

static uint32_t name_of(struct gen_trace *trace, const char *name)
{
    int64_t id = ft_trace_writer_name(trace->writer, FT_BYTES(name));

    if (id < 0)
        gen_die("name");
    return (uint32_t)id;
}

uint32_t gen_file(struct gen_trace *trace, const char *path, unsigned kind, uint64_t inode)
{
    bool is_stored = ft_file_kind_class(kind) == FT_FILE_CLASS_STORAGE;
    struct ft_trace_file file = {
        .path = name_of(trace, path),
        .mount = is_stored ? name_of(trace, "/data") : 0,
        .fstype = is_stored ? name_of(trace, "lustre") : 0,
        .block_size = is_stored ? 4096 : 0,
        .dev = is_stored ? 0x2c : 0xd,
        .inode = inode,
        .kind = (uint8_t)kind,
    };
    int64_t id = ft_trace_writer_file(trace->writer, &file);

    if (id < 0)
        gen_die("file");
    return (uint32_t)id;
}

uint32_t gen_data_file(struct gen_trace *trace, size_t i)
{
    char path[256];

    if (trace->files[i] == 0) {
        snprintf(path, sizeof(path), "%s%04zu/%s%08zu", trace->folder_name, i / 500, trace->file_name, i);
        trace->files[i] = gen_file(trace, path, FT_FILE_KIND_REGULAR, 1000000 + i);
    }
    return trace->files[i];
}

uint32_t gen_context(struct gen_trace *trace, const char *key, uint64_t value)
{
    char text[32];
    struct ft_tag tag = {.key = FT_BYTES(key)};
    int64_t id;

    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    tag.value = FT_BYTES(text);
    id = ft_trace_writer_context(trace->writer, &tag, 1);
    if (id < 0)
        gen_die("context");
    return (uint32_t)id;
}

void gen_call(struct gen_trace *trace, struct gen_thread *thread, unsigned call, uint32_t file, int fd, int64_t result,
              int64_t median_ns)
{
    struct ft_event event = {.call = (uint16_t)call, .file = file, .fd = fd, .result = result};

    gen_emit(trace, thread, event, median_ns);
}

void gen_open(struct gen_trace *trace, struct gen_thread *thread, uint32_t file, int flags, int fd)
{
    struct ft_event event = {
        .call = FT_CALL_ID_openat64, .file = file, .fd = -1, .result = fd, .arg = (uint64_t)flags, .has = FT_HAS_ARG};

    gen_emit(trace, thread, event, 9000);
}

void gen_transfer(struct gen_trace *trace, struct gen_thread *thread, unsigned call, uint32_t file, int fd,
                  int64_t size, int64_t offset, int64_t got)
{
    struct ft_event event = {
        .call = (uint16_t)call,
        .file = file,
        .fd = fd,
        .size = size,
        .offset = offset < 0 ? 0 : offset,
        .result = got,
        .bytes = (uint64_t)got,
        .has = (uint8_t)(FT_HAS_SIZE | FT_HAS_BYTES | (offset < 0 ? 0 : FT_HAS_OFFSET)),
    };

    // About 3 GB/s, above what any call costs.
    gen_emit(trace, thread, event, 700 + got / 3);
}

void gen_fail(struct gen_trace *trace, struct gen_thread *thread, unsigned call, uint32_t file, int err)
{
    struct ft_event event = {.call = (uint16_t)call, .file = file, .fd = -1, .result = -1, .err = err};

    gen_emit(trace, thread, event, 2500);
}

void gen_span(struct gen_trace *trace, struct gen_thread *thread, const char *category, const char *name,
              int64_t since_ns)
{
    int64_t start = since_ns / trace->step_ns * trace->step_ns;
    struct ft_event event = {.kind = FT_EVENT_SPAN,
                             .fd = -1,
                             .start_ns = start,
                             .dur_ns = thread->now_ns / trace->step_ns * trace->step_ns - start,
                             .category = name_of(trace, category),
                             .name = name_of(trace, name)};

    gen_emit(trace, thread, event, 0);
}

void gen_counter(struct gen_trace *trace, struct gen_thread *thread, const char *name, uint64_t value)
{
    struct ft_event event = {.kind = FT_EVENT_COUNTER,
                             .fd = -1,
                             .start_ns = thread->now_ns / trace->step_ns * trace->step_ns,
                             .arg = value,
                             .has = FT_HAS_ARG,
                             .category = name_of(trace, "training"),
                             .name = name_of(trace, name)};

    gen_emit(trace, thread, event, 0);
}
