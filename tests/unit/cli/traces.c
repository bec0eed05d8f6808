// SPDX-License-Identifier: MIT
#include "tests/unit/cli/traces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/calls.h"

#define OFFSET_NS INT64_C(1764432000000000000)

static const unsigned calls[] = {FT_CALL_ID_read, FT_CALL_ID_write, FT_CALL_ID_open, FT_CALL_ID_lseek,
                                 FT_CALL_ID_copy_file_range};

struct maker {
    struct ft_trace_writer *writer;
    struct ft_traces *traces;
    unsigned host, seed;
    int64_t now_ns;
    uint32_t files[FT_TRACES_FILES], threads[FT_TRACES_THREADS], spans[4];
    int64_t thread_ns[FT_TRACES_THREADS]; /* when each thread is free again */
};

static void make_records(struct maker *maker)
{
    for (unsigned f = 0; f < FT_TRACES_FILES; f++) {
        char path[32];
        snprintf(path, sizeof(path), f == 0 ? "pipe:[%u]" : "/data/%u", f == 1 ? 2 : f);
        struct ft_trace_file file = {.path = (uint32_t)ft_trace_writer_name(maker->writer, FT_BYTES(path)),
                                     .kind = f == 0   ? FT_FILE_KIND_PIPE
                                             : f == 1 ? FT_FILE_KIND_UNKNOWN
                                                      : FT_FILE_KIND_REGULAR,
                                     .dev = f == 1 ? 0 : 7,
                                     .inode = f == 1 ? 0 : 100 + f};
        maker->files[f] = (uint32_t)ft_trace_writer_file(maker->writer, &file);
    }
    uint32_t first = 0;
    for (unsigned p = 0; p < FT_TRACES_PROCESSES; p++) {
        struct ft_trace_process process = {.pid = 1000 + p, .parent = first, .start_ns = 1, .job = {.rank = -1}};
        uint32_t id = (uint32_t)ft_trace_writer_new_process(maker->writer, &process);
        first = first ? first : id;
        for (unsigned t = p; t < FT_TRACES_THREADS; t += FT_TRACES_PROCESSES) {
            struct ft_trace_thread thread = {.process = id, .tid = 2000 + t, .ordinal = t / FT_TRACES_PROCESSES};
            maker->threads[t] = (uint32_t)ft_trace_writer_new_thread(maker->writer, &thread);
        }
    }
    static const char *const categories[] = {"compute", "io", "data", "other"};
    for (unsigned s = 0; s < 4; s++) {
        maker->spans[s] = (uint32_t)ft_trace_writer_name(maker->writer, FT_BYTES(categories[s]));
    }
}

static void make_event(struct maker *maker)
{
    unsigned t = (unsigned)rand_r(&maker->seed) % FT_TRACES_THREADS,
             f = (unsigned)rand_r(&maker->seed) % FT_TRACES_FILES;
    bool is_span = rand_r(&maker->seed) % 8 == 0, is_long = rand_r(&maker->seed) % 50 == 0;
    maker->now_ns += rand_r(&maker->seed) % 400;
    struct ft_event event = {.kind = is_span ? FT_EVENT_SPAN : FT_EVENT_CALL,
                             .thread = maker->threads[t],
                             .fd = -1,
                             .dur_ns = is_long ? rand_r(&maker->seed) % 100000 : rand_r(&maker->seed) % 300};
    event.start_ns = maker->now_ns - event.dur_ns;
    if (event.start_ns < maker->thread_ns[t]) {
        event.start_ns = maker->thread_ns[t];
        event.dur_ns = 1;
    }
    maker->thread_ns[t] = event.start_ns + event.dur_ns;
    maker->now_ns = maker->thread_ns[t] > maker->now_ns ? maker->thread_ns[t] : maker->now_ns;
    if (is_span) {
        event.category = event.name = maker->spans[rand_r(&maker->seed) % 4];
        f = UINT32_MAX;
    } else {
        event.call = (uint16_t)calls[(unsigned)rand_r(&maker->seed) % (sizeof(calls) / sizeof(calls[0]))];
        event.file = maker->files[f];
        event.file2 = event.call == FT_CALL_ID_copy_file_range ? maker->files[(f + 1) % FT_TRACES_FILES] : 0;
        event.bytes = event.call == FT_CALL_ID_open ? 0 : (uint64_t)rand_r(&maker->seed) % 5000;
        event.result = (int64_t)event.bytes;
        event.has = FT_HAS_BYTES | FT_HAS_RESULT;
    }
    assert_int_equal(ft_trace_writer_add(maker->writer, &event), 0);
    maker->traces->events[maker->traces->count++] = (struct ft_traces_event){.event = event,
                                                                             .ts_ns = event.start_ns + OFFSET_NS,
                                                                             .file = f,
                                                                             .process = t % FT_TRACES_PROCESSES,
                                                                             .host = maker->host};
}

void ft_traces_write(struct ft_trace_writer *writer, const char *path)
{
    size_t len;
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    const uint8_t *data = ft_trace_writer_data(writer, &len);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(data, 1, len, out), len);
    fclose(out);
    ft_trace_writer_destroy(writer);
}

static void make_trace(struct maker *maker, unsigned blocks, unsigned rows)
{
    char host[16], path[128];
    snprintf(host, sizeof(host), "host%u", maker->host);
    struct ft_trace_header header = {.host = FT_BYTES(host),
                                     .boot_id = FT_BYTES("00000000-0000-0000-0000-000000000000"),
                                     .realtime_offset_ns = OFFSET_NS,
                                     .part = 1};
    assert_int_equal(ft_trace_writer_create(&header, NULL, &maker->writer), 0);
    make_records(maker);
    for (unsigned b = 0; b < blocks; b++) {
        for (unsigned i = 0; i < rows; i++) {
            make_event(maker);
        }
        assert_int_equal(ft_trace_writer_end_block(maker->writer, NULL, 0), 0);
    }
    snprintf(path, sizeof(path), "%s/%s.flow", maker->traces->folder, host);
    ft_traces_write(maker->writer, path);
}

void ft_traces_make(struct ft_traces *traces, unsigned hosts, unsigned blocks, unsigned rows, unsigned seed)
{
    memset(traces, 0, sizeof(*traces));
    strcpy(traces->folder, "/tmp/flowtap-traces-XXXXXX");
    assert_non_null(mkdtemp(traces->folder));
    traces->events = calloc((size_t)hosts * blocks * rows, sizeof(*traces->events));
    assert_non_null(traces->events);
    for (unsigned h = 0; h < hosts; h++) {
        struct maker maker = {.traces = traces, .host = h, .seed = seed + h, .now_ns = 1000000};
        make_trace(&maker, blocks, rows);
    }
}

struct ft_trace_set *ft_traces_open(const struct ft_traces *traces)
{
    struct ft_trace_set *set = NULL;
    const char *path = traces->folder;
    assert_int_equal(ft_trace_set_open(&path, 1, NULL, &set, NULL), 0);
    return set;
}

void ft_traces_remove(struct ft_traces *traces)
{
    for (unsigned h = 0;; h++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/host%u.flow", traces->folder, h);
        if (unlink(path) < 0) {
            break;
        }
    }
    rmdir(traces->folder);
    free(traces->events);
}
