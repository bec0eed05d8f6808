// SPDX-License-Identifier: MIT
//
// Size and speed of the trace file: bench_trace [EVENTS] prints one JSON object a
// line for each workload. Times of the calls are measured here, on real preads,
// and rounded down to the step of the clock that is imitated.
#include "proto/trace_reader.h"
#include "proto/trace_writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES 65536
#define CALL_OPEN 1
#define CALL_STAT 2
#define CALL_READ 3
#define CALL_PREAD 4
#define CALL_WRITE 5
#define CALL_CLOSE 6

struct bench {
    struct ft_trace_writer *writer;
    int64_t durations[SAMPLES], gaps[SAMPLES]; // as measured, ns
    int64_t now_ns;
    int64_t step_ns; // of the imitated clock
    uint64_t random;
    size_t sample;
    uint32_t threads[4], files[4096];
    struct ft_event *events;
    size_t count, cap;
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

static uint64_t next_random(struct bench *bench)
{
    bench->random ^= bench->random << 13;
    bench->random ^= bench->random >> 7;
    bench->random ^= bench->random << 17;
    return bench->random;
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
        bench->durations[i] = now - start;
        bench->gaps[i] = end ? start - end : 0;
        end = now;
    }
    close(fd);
}

static int64_t rounded(const struct bench *bench, int64_t ns)
{
    return ns / bench->step_ns * bench->step_ns;
}

// Adds an event that takes `scale` times as long as a pread took.
static void emit(struct bench *bench, struct ft_event event, int64_t scale)
{
    int64_t start, end;

    if (bench->count == bench->cap)
        return;
    bench->now_ns += bench->gaps[bench->sample] * scale;
    start = rounded(bench, bench->now_ns);
    bench->now_ns += bench->durations[bench->sample] * scale;
    end = rounded(bench, bench->now_ns);
    bench->sample = (bench->sample + 1) % SAMPLES;
    event.start_ns = start;
    event.dur_ns = end - start;
    event.has |= FT_HAS_RESULT | FT_HAS_ERR;
    bench->events[bench->count++] = event;
}

static void make_preads(struct bench *bench, bool is_sequential)
{
    for (int64_t i = 0; bench->count < bench->cap; i++)
        emit(bench,
             (struct ft_event){
                 .call = CALL_PREAD,
                 .thread = bench->threads[0],
                 .file = bench->files[0],
                 .fd = 3,
                 .size = 4096,
                 .offset = is_sequential ? i * 4096 : 0,
                 .result = 4096,
                 .bytes = 4096,
                 .has = FT_HAS_SIZE | FT_HAS_OFFSET | FT_HAS_BYTES,
             },
             1);
}

static void make_same_preads(struct bench *bench)
{
    make_preads(bench, false);
}

static void make_sequential_preads(struct bench *bench)
{
    make_preads(bench, true);
}

// As tar does it: each file opened, looked at, read and closed, the archive written
// in records of 10 KiB.
static void make_mixed(struct bench *bench)
{
    int64_t archive_offset = 0, buffered = 0;
    uint32_t thread = bench->threads[0], archive = bench->files[0];

    for (size_t i = 0; bench->count < bench->cap; i++) {
        uint32_t file = bench->files[1 + i % 4095];
        int64_t size = (int64_t)(next_random(bench) % 20000), left;

        emit(bench,
             (struct ft_event){
                 .call = CALL_STAT, .thread = thread, .file = file, .fd = -1, .arg = 0x100, .has = FT_HAS_ARG},
             1 + (int64_t)(next_random(bench) % 3));
        emit(bench,
             (struct ft_event){.call = CALL_OPEN,
                               .thread = thread,
                               .file = file,
                               .fd = -1,
                               .result = 4,
                               .arg = 0x80000,
                               .has = FT_HAS_ARG},
             2 + (int64_t)(next_random(bench) % 5));
        emit(bench, (struct ft_event){.call = CALL_STAT, .thread = thread, .file = file, .fd = 4}, 1);
        for (left = size; left > 0; left -= 10240) {
            int64_t got = left < 10240 ? left : 10240;

            emit(bench,
                 (struct ft_event){.call = CALL_READ,
                                   .thread = thread,
                                   .file = file,
                                   .fd = 4,
                                   .size = got,
                                   .offset = size - left,
                                   .result = got,
                                   .bytes = (uint64_t)got,
                                   .has = FT_HAS_SIZE | FT_HAS_OFFSET | FT_HAS_BYTES},
                 1 + got / 4096);
            buffered += got;
            for (; buffered >= 10240; buffered -= 10240, archive_offset += 10240)
                emit(bench,
                     (struct ft_event){.call = CALL_WRITE,
                                       .thread = thread,
                                       .file = archive,
                                       .fd = 3,
                                       .size = 10240,
                                       .offset = archive_offset,
                                       .result = 10240,
                                       .bytes = 10240,
                                       .has = FT_HAS_SIZE | FT_HAS_OFFSET | FT_HAS_BYTES},
                     5);
        }
        emit(bench, (struct ft_event){.call = CALL_CLOSE, .thread = thread, .file = file, .fd = 4}, 1);
    }
}

static void create_writer(struct bench *bench)
{
    struct ft_trace_header header = {.host = FT_BYTES("bench")};
    uint32_t process;

    if (ft_trace_writer_create(&header, NULL, &bench->writer))
        die("create");
    process = (uint32_t)ft_trace_writer_new_process(bench->writer, &(struct ft_trace_process){.pid = 1});
    for (size_t i = 0; i < 4; i++)
        bench->threads[i] =
            (uint32_t)ft_trace_writer_new_thread(bench->writer, &(struct ft_trace_thread){.process = process});
    for (size_t i = 0; i < 4096; i++) {
        char path[64];
        struct ft_trace_file file = {.kind = FT_FILE_KIND_REGULAR, .inode = 1000 + i, .dev = 1};

        snprintf(path, sizeof(path), "/usr/share/doc/folder%zu/file%zu", i / 8, i);
        file.path = (uint32_t)ft_trace_writer_name(bench->writer, FT_BYTES(path));
        bench->files[i] = (uint32_t)ft_trace_writer_file(bench->writer, &file);
    }
}

// All bytes of a file.
struct bytes {
    uint8_t *data;
    size_t len;
};

static void encode(struct bench *bench, struct bytes *out)
{
    const uint8_t *data;
    size_t len;

    for (size_t i = 0; i < bench->count; i++) {
        if (ft_trace_writer_add(bench->writer, &bench->events[i]))
            die("add");
        if (ft_trace_writer_rows(bench->writer) == FT_TRACE_BLOCK_ROWS_MAX &&
            ft_trace_writer_end_block(bench->writer, NULL, 0))
            die("end_block");
    }
    if (ft_trace_writer_end_block(bench->writer, NULL, 0) || ft_trace_writer_finish(bench->writer))
        die("finish");
    data = ft_trace_writer_data(bench->writer, &len);
    out->data = malloc(len);
    out->len = len;
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

static void run(struct bench *bench, const char *name, int64_t step_ns, void (*make)(struct bench *bench))
{
    struct bytes file;
    struct ft_trace_reader *reader;
    struct ft_trace_frames frames[FT_TRACE_FRAME_KINDS];
    double count, encode_ns, all_ns, times_ns;
    uint64_t sum = 0;
    int64_t begin;

    create_writer(bench);
    bench->step_ns = step_ns;
    bench->now_ns = 1000000000000;
    bench->random = 88172645463325252u;
    bench->count = 0;
    make(bench);
    count = (double)bench->count;
    begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    encode(bench, &file);
    encode_ns = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
    ft_trace_writer_destroy(bench->writer);
    if (ft_trace_reader_open_memory(file.data, file.len, NULL, &reader) || ft_trace_reader_is_partial(reader))
        die("open");
    ft_trace_reader_frames(reader, frames);
    all_ns = (double)decode(reader, FT_COL_ALL, &sum);
    times_ns = (double)decode(reader, FT_COL_START | FT_COL_DUR | FT_COL_CALL | FT_COL_FILE, &sum);
    if (sum != 2 * bench->count)
        die("count");
    printf("{\"bench\": \"trace\", \"workload\": \"%s\", \"clock_step_ns\": %d, \"events\": %zu, "
           "\"bytes_per_event\": %.3f, \"tables_bytes_per_event\": %.3f, \"encode_ns\": %.1f, "
           "\"encode_mevents\": %.1f, \"decode_all_ns\": %.1f, \"decode_all_mevents\": %.1f, "
           "\"decode_times_ns\": %.1f, \"decode_times_mevents\": %.1f}\n",
           name, (int)step_ns, bench->count, (double)frames[3].bytes / count, (double)frames[2].bytes / count,
           encode_ns / count, count / encode_ns * 1e3, all_ns / count, count / all_ns * 1e3, times_ns / count,
           count / times_ns * 1e3);
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
    for (int64_t step = 10; step > 0; step /= 10) {
        run(bench, "pread_same", step, make_same_preads);
        run(bench, "pread_sequential", step, make_sequential_preads);
        run(bench, "mixed", step, make_mixed);
    }
    free(bench->events);
    free(bench);
    return 0;
}
