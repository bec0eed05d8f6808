// SPDX-License-Identifier: MIT
#include "tests/generate/generate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BOOT_ID "0a1b2c3d-0000-4000-8000-000000000000"
// The daemon drains a thread's events of so long a time together.
#define SLICE_NS 2000000
#define REALTIME_NS INT64_C(1700000000000000000)

void gen_die(const char *what)
{
    fprintf(stderr, "flowtap-generate: %s failed\n", what);
    exit(1);
}

void gen_die_of(const char *path)
{
    fprintf(stderr, "flowtap-generate: %s: %s\n", path, strerror(errno));
    exit(1);
}

const struct gen_model gen_models[] = {
    {"training", "ranks with loader workers that read shuffled samples", gen_training_begin, gen_training_step},
    {"checkpoint", "ranks that write a shared file now and then", gen_checkpoint_begin, gen_checkpoint_step},
    {"metadata", "many short processes that open, stat and remove small files", gen_metadata_begin, gen_metadata_step},
    {"random", "anything that may follow anything", gen_random_begin, gen_random_step},
    {"same", "one thread that reads one page again and again", gen_single_begin, gen_same_step},
    {"sequential", "one thread that reads page after page", gen_single_begin, gen_sequential_step},
    {"serial", "one thread that computes only when it has read", gen_single_begin, gen_serial_step},
    {"even", "four processes that read at the same pace", gen_peers_begin, gen_even_step},
    {"straggler", "the same, but one of them waits long for each read", gen_peers_begin, gen_straggler_step},
    {"lone", "one of four processes reads, the others wait", gen_peers_begin, gen_lone_step},
    {"tar", "one thread that packs a tree of files", gen_single_begin, gen_tar_step},
};
const size_t gen_model_count = sizeof(gen_models) / sizeof(gen_models[0]);

const struct gen_model *gen_model_find(const char *name)
{
    for (size_t i = 0; i < gen_model_count; i++)
        if (strcmp(gen_models[i].name, name) == 0)
            return &gen_models[i];
    return NULL;
}

void gen_trace_host_name(const struct gen_options *options, char *out, size_t bytes)
{
    snprintf(out, bytes, "node%05llu", (unsigned long long)options->host);
}

// What is in the writer's buffer goes into the file.
static void write_out(struct gen_trace *trace)
{
    size_t len;
    const uint8_t *data = ft_trace_writer_data(trace->writer, &len);

    while (trace->fd >= 0 && len) {
        ssize_t n = write(trace->fd, data, len);

        if (n < 0 && errno != EINTR)
            gen_die_of(trace->path);
        ft_trace_writer_consume(trace->writer, n > 0 ? (size_t)n : 0);
        data = ft_trace_writer_data(trace->writer, &len);
    }
}

static void store(struct gen_trace *trace, const struct ft_event *event)
{
    if (trace->collected) {
        trace->collected[trace->collected_count++] = *event;
        return;
    }
    if (ft_trace_writer_add(trace->writer, event))
        gen_die("add");
    if (ft_trace_writer_rows(trace->writer) < FT_TRACE_BLOCK_ROWS_MAX)
        return;
    if (ft_trace_writer_end_block(trace->writer, NULL, 0))
        gen_die("end_block");
    write_out(trace);
}

// Whether a call is of those that found the ring full: the first of each thousand.
static bool is_dropped(const struct gen_trace *trace, const struct gen_process *process, const struct ft_event *event)
{
    return event->kind == FT_EVENT_CALL && process->record.emitted % 1000 < trace->options.dropped_permille;
}

static void drop(struct gen_process *process, const struct ft_event *event)
{
    struct ft_trace_process *record = &process->record;
    size_t i = 0;

    record->dropped[FT_CAUSE_RING_FULL]++;
    while (i < record->dropped_calls_count && process->dropped_calls[i].call != event->call)
        i++;
    if (i == GEN_DROPPED_CALLS)
        return;
    if (i == record->dropped_calls_count)
        process->dropped_calls[record->dropped_calls_count++] = (struct ft_trace_dropped){.call = event->call};
    process->dropped_calls[i].count++;
    process->dropped_calls[i].bytes += event->bytes;
    process->dropped_calls[i].time_ns += (uint64_t)event->dur_ns;
}

static void count_kernel_bytes(struct gen_process *process, const struct ft_event *event)
{
    struct ft_trace_kernel *kernel = &process->record.kernel;

    if (ft_call_group(event->call) == FT_GROUP_READ) {
        kernel->rchar += event->bytes;
        kernel->syscr++;
    } else if (ft_call_group(event->call) == FT_GROUP_WRITE) {
        kernel->wchar += event->bytes;
        kernel->syscw++;
    }
}

static int64_t rounded(const struct gen_trace *trace, int64_t ns)
{
    return ns / trace->step_ns * trace->step_ns;
}

// How long the thread was about its own things, and how long the call took. One in some thousand has to wait long.
static void draw_times(struct gen_trace *trace, struct gen_thread *thread, int64_t median_ns, int64_t *gap,
                       int64_t *dur)
{
    if (trace->durs) {
        *gap = trace->gaps[trace->sample] * median_ns / 1000;
        *dur = trace->durs[trace->sample] * median_ns / 1000;
        trace->sample = (trace->sample + 1) & (trace->sample_count - 1);
        return;
    }
    *gap = 80 + (int64_t)gen_lognormal(&thread->random, 400, 256);
    *dur = (int64_t)gen_lognormal(&thread->random, (uint64_t)median_ns, 128);
    if (gen_random(&thread->random) % 4096 == 0)
        *dur *= 50;
}

void gen_emit(struct gen_trace *trace, struct gen_thread *thread, struct ft_event event, int64_t median_ns)
{
    struct gen_process *process = thread->process;
    int64_t gap, dur;

    if (trace->emitted == trace->emit_max)
        return;
    if (event.kind == FT_EVENT_CALL) {
        draw_times(trace, thread, median_ns, &gap, &dur);
        event.start_ns = rounded(trace, thread->now_ns + gap);
        thread->now_ns += gap + dur;
        event.dur_ns = rounded(trace, thread->now_ns) - event.start_ns;
        event.has |= FT_HAS_RESULT | FT_HAS_ERR;
    }
    event.thread = thread->id;
    event.context = thread->context;
    trace->emitted++;
    thread->made++;
    count_kernel_bytes(process, &event);
    if (is_dropped(trace, process, &event)) {
        drop(process, &event);
    } else {
        store(trace, &event);
        process->record.stored++;
    }
    process->record.emitted++;
}

static void end_process(struct gen_trace *trace, struct gen_process *process, int64_t end_ns)
{
    process->record.end_ns = end_ns;
    process->record.exit = FT_EXIT_CODE;
    process->record.exit_source = FT_EXIT_SOURCE_PIDFD;
    process->record.kernel.is_known = true;
    process->record.dropped_calls = process->dropped_calls;
    if (ft_trace_writer_put_process(trace->writer, process->id, &process->record))
        gen_die("put_process");
}

struct gen_process *gen_process_new(struct gen_trace *trace, const struct gen_process *parent, const char *exe,
                                    int rank, int64_t start_ns)
{
    struct gen_process *process = calloc(1, sizeof(*process));
    int64_t id;

    if (!process)
        gen_die("memory");
    process->record = (struct ft_trace_process){
        .pid = ++trace->next_pid,
        .parent = parent ? parent->id : 0,
        .parent_pid = parent ? parent->record.pid : 1,
        .start_ns = start_ns,
        .uid = 1000,
        .exe = FT_BYTES(exe),
        .cwd = FT_BYTES("/home/user/run"),
        .user = FT_BYTES("user"),
        .job = {.id = FT_BYTES("4711"), .source = FT_JOB_SOURCE_CGROUP, .rank = rank, .local_rank = -1},
    };
    id = ft_trace_writer_new_process(trace->writer, &process->record);
    if (id < 0)
        gen_die("new_process");
    process->id = (uint32_t)id;
    return process;
}

static uint32_t thread_id(struct gen_trace *trace, const struct gen_process *process, uint32_t ordinal)
{
    struct ft_trace_thread record = {.process = process->id,
                                     .tid = ordinal ? ++trace->next_pid : process->record.pid,
                                     .ordinal = ordinal,
                                     .name = FT_BYTES("thread")};
    int64_t id = ft_trace_writer_new_thread(trace->writer, &record);

    if (id < 0)
        gen_die("new_thread");
    return (uint32_t)id;
}

struct gen_thread *gen_thread_new(struct gen_trace *trace, struct gen_process *process, unsigned role, unsigned index)
{
    struct gen_thread *thread;
    uint32_t ordinal = 0;

    for (size_t i = 0; i < trace->thread_count; i++)
        ordinal += trace->threads[i].process == process;
    trace->threads = realloc(trace->threads, (trace->thread_count + 1) * sizeof(*trace->threads));
    if (!trace->threads)
        gen_die("memory");
    thread = &trace->threads[trace->thread_count++];
    *thread = (struct gen_thread){
        .id = thread_id(trace, process, ordinal),
        .process = process,
        .random = gen_mix(trace->options.seed, trace->options.host << 32 | trace->thread_count),
        .role = role,
        .index = index,
    };
    thread->now_ns = GEN_START_NS + (int64_t)gen_lognormal(&thread->random, 1000000, 512);
    return thread;
}

void gen_thread_restart(struct gen_trace *trace, struct gen_thread *thread, const char *exe)
{
    struct gen_process *old = thread->process;

    end_process(trace, old, thread->now_ns);
    thread->now_ns += (int64_t)gen_lognormal(&thread->random, 3000000, 128);
    thread->process = gen_process_new(trace, NULL, exe, -1, thread->now_ns);
    thread->id = thread_id(trace, thread->process, 0);
    thread->made = 0;
    free(old);
}

// Threads take turns by their clocks, so that blocks hold what happened together.
static void run_threads(struct gen_trace *trace)
{
    while (trace->emitted < trace->emit_max) {
        struct gen_thread *first = &trace->threads[0];
        int64_t until;

        for (size_t i = 1; i < trace->thread_count; i++)
            if (trace->threads[i].now_ns < first->now_ns)
                first = &trace->threads[i];
        until = first->now_ns + SLICE_NS;
        while (first->now_ns < until && trace->emitted < trace->emit_max) {
            trace->model->step(trace, first);
            first->unit++;
        }
    }
}

static void end_threads(struct gen_trace *trace)
{
    int64_t end_ns = GEN_START_NS;

    for (size_t i = 0; i < trace->thread_count; i++)
        end_ns = trace->threads[i].now_ns > end_ns ? trace->threads[i].now_ns : end_ns;
    for (size_t i = 0; i < trace->thread_count; i++) {
        struct gen_process *process = trace->threads[i].process;

        for (size_t k = i; k < trace->thread_count; k++)
            if (trace->threads[k].process == process)
                trace->threads[k].process = NULL;
        if (process)
            end_process(trace, process, end_ns);
        free(process);
    }
}

static void create_writer(struct gen_trace *trace)
{
    char host[32];
    struct ft_trace_header header = {
        .writer = FT_BYTES("flowtap-generate"),
        .boot_id = FT_BYTES(BOOT_ID),
        .user = FT_BYTES("user"),
        .uid = 1000,
        .job = {.id = FT_BYTES("4711"), .workflow = FT_BYTES("generated"), .source = FT_JOB_SOURCE_CGROUP},
        .realtime_offset_ns = REALTIME_NS,
        .clock_error_ns = 1000,
        .created_ns = REALTIME_NS + GEN_START_NS,
    };

    gen_trace_host_name(&trace->options, host, sizeof(host));
    header.host = FT_BYTES(host);
    if (ft_trace_writer_create(&header, NULL, &trace->writer))
        gen_die("create");
    if (ft_trace_writer_put_clock(trace->writer,
                                  &(struct ft_trace_clock){.mono_ns = GEN_START_NS, .realtime_offset_ns = REALTIME_NS}))
        gen_die("clock");
}

void gen_trace_make(struct gen_trace *trace, const struct gen_model *model, const struct gen_options *options,
                    const char *path)
{
    uint64_t hosts = options->hosts ? options->hosts : 1;

    trace->options = *options;
    trace->options.hosts = hosts;
    trace->model = model;
    trace->emit_max = options->events / hosts + (options->host < options->events % hosts);
    trace->step_ns = trace->step_ns ? trace->step_ns : 10;
    trace->next_pid = 1000;
    trace->fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
    trace->path = path;
    if (path && trace->fd < 0)
        gen_die_of(path);
    create_writer(trace);
    model->begin(trace);
    run_threads(trace);
    end_threads(trace);
    free(trace->threads);
    free(trace->files);
    trace->threads = NULL;
    trace->files = NULL;
    if (!path)
        return;
    if (ft_trace_writer_end_block(trace->writer, NULL, 0) || ft_trace_writer_finish(trace->writer))
        gen_die("finish");
    write_out(trace);
    ft_trace_writer_destroy(trace->writer);
    if (close(trace->fd))
        gen_die_of(path);
}
