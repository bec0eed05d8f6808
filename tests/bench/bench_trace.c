// SPDX-License-Identifier: MIT
//
// Size and speed of the trace file: bench_trace [EVENTS] prints one JSON object a
// line for each model of tests/generate. Times of the single-threaded ones' calls are
// measured here, on real preads, and rounded down to the step of the clock that is imitated.
#include "proto/trace_reader.h"
#include "tests/generate/generate.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES 65536

struct bench {
    struct gen_trace trace;
    int64_t durs[SAMPLES], gaps[SAMPLES]; // as measured, ns
    struct ft_event *events;
    size_t cap;
};

static void die(const char *what)
{
    fprintf(stderr, "bench_trace: %s failed\n", what);
    exit(1);
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void measure_preads(struct bench *bench)
{
    char path[] = "/dev/shm/bench_trace.XXXXXX", page[4096] = {0};
    int fd = mkstemp(path);
    int64_t end = 0;

    if (fd < 0 || write(fd, page, sizeof(page)) != sizeof(page))
        die("a temporary file");
    unlink(path);
    for (size_t i = 0; i < SAMPLES; i++) {
        int64_t start = clock_ns(CLOCK_MONOTONIC), now;

        if (pread(fd, page, sizeof(page), 0) != sizeof(page))
            die("pread");
        now = clock_ns(CLOCK_MONOTONIC);
        bench->durs[i] = now - start;
        bench->gaps[i] = end ? start - end : 0;
        end = now;
    }
    close(fd);
}

// All bytes of a file.
struct bytes {
    uint8_t *data;
    size_t len;
};

static void encode(struct bench *bench, struct bytes *out)
{
    struct ft_trace_writer *writer = bench->trace.writer;
    const uint8_t *data;
    size_t len;

    for (size_t i = 0; i < bench->trace.collected_count; i++) {
        if (ft_trace_writer_add(writer, &bench->events[i]))
            die("add");
        if (ft_trace_writer_rows(writer) == FT_TRACE_BLOCK_ROWS_MAX && ft_trace_writer_end_block(writer, NULL, 0))
            die("end_block");
    }
    if (ft_trace_writer_end_block(writer, NULL, 0) || ft_trace_writer_finish(writer))
        die("finish");
    data = ft_trace_writer_data(writer, &len);
    out->data = malloc(len);
    out->len = len;
    if (!out->data)
        die("memory");
    memcpy(out->data, data, len);
}

static int64_t decode(const struct ft_trace_reader *reader, uint32_t mask, uint64_t *sum)
{
    struct ft_trace_decoder *decoder;
    int64_t begin;
    size_t count;

    ft_trace_reader_blocks(reader, &count);
    if (ft_trace_decoder_create(&decoder))
        die("decoder");
    begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; i < count; i++) {
        struct ft_rows rows;

        if (ft_trace_decoder_rows(decoder, reader, i, mask, &rows))
            die("rows");
        *sum += rows.count;
    }
    begin = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
    ft_trace_decoder_destroy(decoder);
    return begin;
}

static void make(struct bench *bench, const struct gen_model *model, int64_t step_ns)
{
    struct gen_options options = {.events = bench->cap, .seed = 1};
    bool is_measured = model->begin == gen_single_begin;

    bench->trace = (struct gen_trace){
        .step_ns = step_ns,
        .durs = is_measured ? bench->durs : NULL,
        .gaps = bench->gaps,
        .sample_count = SAMPLES,
        .collected = bench->events,
    };
    gen_trace_make(&bench->trace, model, &options, NULL);
}

static void run(struct bench *bench, const struct gen_model *model, int64_t step_ns)
{
    struct bytes file;
    struct ft_trace_reader *reader;
    struct ft_trace_frames frames[FT_TRACE_FRAME_KINDS];
    double count, encode_ns, all_ns, times_ns;
    uint64_t sum = 0;
    int64_t begin;

    make(bench, model, step_ns);
    count = (double)bench->trace.collected_count;
    begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    encode(bench, &file);
    encode_ns = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
    ft_trace_writer_destroy(bench->trace.writer);
    if (ft_trace_reader_open_memory(file.data, file.len, NULL, &reader) || ft_trace_reader_is_partial(reader))
        die("open");
    ft_trace_reader_frames(reader, frames);
    all_ns = (double)decode(reader, FT_COL_ALL, &sum);
    times_ns = (double)decode(reader, FT_COL_START | FT_COL_DUR | FT_COL_CALL | FT_COL_FILE, &sum);
    if (sum != 2 * bench->trace.collected_count)
        die("count");
    printf("{\"bench\": \"trace\", \"workload\": \"%s\", \"clock_step_ns\": %d, \"events\": %zu, "
           "\"bytes_per_event\": %.3f, \"tables_bytes_per_event\": %.3f, \"encode_ns\": %.1f, "
           "\"encode_mevents\": %.1f, \"decode_all_ns\": %.1f, \"decode_all_mevents\": %.1f, "
           "\"decode_times_ns\": %.1f, \"decode_times_mevents\": %.1f}\n",
           model->name, (int)step_ns, bench->trace.collected_count, (double)frames[3].bytes / count,
           (double)frames[2].bytes / count, encode_ns / count, count / encode_ns * 1e3, all_ns / count,
           count / all_ns * 1e3, times_ns / count, count / times_ns * 1e3);
    ft_trace_reader_close(reader);
    free(file.data);
}

int main(int argc, char **argv)
{
    struct bench *bench = calloc(1, sizeof(*bench));

    if (!bench)
        die("memory");
    bench->cap = argc > 1 ? strtoul(argv[1], NULL, 10) : 4000000;
    bench->events = malloc((bench->cap ? bench->cap : 1) * sizeof(*bench->events));
    if (!bench->events)
        die("memory");
    measure_preads(bench);
    for (int64_t step = 10; step > 0; step /= 10)
        for (size_t i = 0; i < gen_model_count; i++)
            run(bench, &gen_models[i], step);
    free(bench->events);
    free(bench);
    return 0;
}
