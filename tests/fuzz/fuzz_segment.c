// SPDX-License-Identifier: MIT
//
// The drain over a segment that a client has scribbled in, also between two looks. The input is a list of patches
// (offset, length, bytes) to a small segment with some good records; an empty patch is a look. Where the input's first
// byte is odd, a thread goes on applying all patches while the daemon looks. In the end the account must close.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/account.h"
#include "daemon/daemon.h"
#include "daemon/ending.h"
#include "tests/unit/daemon/segment_maker.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
    struct maker maker;
    struct ft_job job;
    struct ft_process *process;
    struct ft_clock_view view;
    struct ft_trace_writer *writer;
    struct ft_drain drain;
    uint32_t block;
};

static struct ft_daemon some_daemon;
static struct ft_mounts mounts;
static struct ft_clock_pairs clock_pairs;

static void fill_segment(struct maker *maker)
{
    maker_init(maker);
    maker->head->chunks_max = maker->head->chunks_ready = 16; // looks are cheaper so
    maker_hello_item(maker, FT_HELLO_EXE, "/bin/x", 6);
    maker_hello_item(maker, FT_HELLO_ARGV, "x\0-y", 4);
    maker_hello_item(maker, FT_HELLO_ENV, "FLOWTAP_TAGS=a=b,c\0RANK=1", 25);
    maker_hello_item(maker, FT_HELLO_CWD, "/tmp", 4);
    for (uint32_t line = 0; line < 3; line++) {
        maker_define(maker, line, 16 + line, FT_FILE_CWD, FT_DEFINE_PATH, "./name");
        maker_define(maker, line, 20 + line, 0, FT_DEFINE_STRING, "key=value");
        for (unsigned i = 0; i < 140; i++)
            maker_call(maker, line, 30 + i, 16 + i % 3, i, i * 10, maker_ticks(), 100);
    }
}

static bool open_world(struct world *world)
{
    struct ft_process *process = calloc(1, sizeof(*process));
    assert(process);
    process->pidfd = -1;
    process->pid = process->ns_pid = 1000000000;
    process->job = &world->job;
    world->job.daemon = &some_daemon;
    world->process = world->job.processes = process;
    ft_names_init(&process->names);
    process->segment.fd = -1;
    int fd = dup(world->maker.fd);
    if (ft_segment_open(&process->segment, fd, world->maker.bytes) < 0) {
        close(fd);
        return false;
    }
    return ft_process_read_hello(process) == 0;
}

static void drain(struct world *world)
{
    struct ft_process *process = world->process;
    struct ft_batch *batch = &world->job.batch;
    bool changed;
    size_t first;
    world->drain.block = ++world->block;
    world->drain.now_ns += 700000000;
    ft_batch_reset(batch);
    int r = ft_segment_look(&process->segment, &changed);
    if (r == 0)
        r = ft_batch_collect(batch, process, &first);
    if (r == 0)
        r = ft_drain_names(&world->drain, batch, 0, batch->count);
    for (size_t i = 0; r >= 0 && i < batch->count; i++)
        do {
            r = ft_drain_piece(&world->drain, &batch->pieces[i]);
            if (r == FT_DRAIN_BLOCK_FULL)
                ft_trace_writer_drop_rows(world->writer);
        } while (r == FT_DRAIN_BLOCK_FULL);
    ft_trace_writer_drop_rows(world->writer);
    ft_batch_commit(batch, 0, batch->count);
    ft_names_end_block(&process->names, world->block);
    process->stored += process->rows_pending;
    process->rows_pending = 0;
}

static void start_drain(struct world *world)
{
    const struct ft_trace_header header = {.host = FT_BYTES("h")};
    assert(ft_trace_writer_create(&header, NULL, &world->writer) == 0);
    ft_clock_view_init(&world->view, &clock_pairs);
    world->drain = (struct ft_drain){
        .batch = &world->job.batch,
        .writer = world->writer,
        .part = 1,
        .torn_wait_ns = 1000000000,
        .view = &world->view,
        .mounts = &mounts,
        .rows_max = 1000,
    };
    ft_account_put(&world->drain, world->process);
}

static void close_world(struct world *world)
{
    ft_process_destroy(world->process);
    ft_batch_fini(&world->job.batch);
    ft_children_fini(&world->job.children);
    ft_trace_writer_destroy(world->writer);
    maker_fini(&world->maker);
    free(world);
}

// Applies one patch; false where none is left. *is_look: it was empty.
static bool patch(struct world *world, const uint8_t **data, size_t *size, bool *is_look)
{
    if (*size < 4)
        return false;
    size_t offset = ((size_t)(*data)[0] | (size_t)(*data)[1] << 8 | (size_t)(*data)[2] << 16) % (40 * FT_PAGE_BYTES);
    size_t count = (*data)[3];
    *data += 4;
    *size -= 4;
    count = count < *size ? count : *size;
    memcpy(world->maker.map + offset, *data, count);
    *data += count;
    *size -= count;
    *is_look = count == 0;
    return true;
}

struct writer {
    struct world *world;
    const uint8_t *data;
    size_t size;
    atomic_bool must_end;
    pthread_t thread;
};

static void *write_on(void *given)
{
    struct writer *writer = given;
    bool is_look;
    do {
        const uint8_t *data = writer->data;
        size_t size = writer->size;
        while (patch(writer->world, &data, &size, &is_look))
            ;
    } while (!atomic_load(&writer->must_end));
    return NULL;
}

static void look_at_patches(struct world *world, const uint8_t *data, size_t size)
{
    bool is_look = false;
    start_drain(world);
    drain(world);
    for (unsigned looks = 0; looks < 16 && patch(world, &data, &size, &is_look);)
        if (is_look) {
            drain(world);
            looks++;
        }
    world->drain.must_not_wait = true;
    drain(world);
}

// emitted = stored + dropped, whatever the segment says.
static void check_account(const struct ft_process *process)
{
    const struct ft_segment_counts *counts = &process->segment.counts;
    uint64_t sum = process->stored + counts->dropped + counts->limited;
    for (unsigned cause = 0; cause < FT_CAUSE_COUNT; cause++)
        sum += process->dropped[cause];
    assert(sum == counts->emitted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *world = calloc(1, sizeof(*world));
    struct writer writer = {.world = world, .data = data, .size = size};
    bool is_look = false, has_writer = size > 0 && data[0] % 2;
    assert(world);
    if (!clock_pairs.count) {
        ft_mounts_init(&mounts);
        ft_clock_init(&clock_pairs, 10000000);
        ft_clock_tick(&clock_pairs, true);
    }
    fill_segment(&world->maker);
    while (!is_look && patch(world, &data, &size, &is_look))
        ;
    if (open_world(world)) {
        has_writer = has_writer && pthread_create(&writer.thread, NULL, write_on, &writer) == 0;
        look_at_patches(world, data, size);
        ft_ending_finish(&world->drain, world->process, 1, FT_GAP_STILL_RUNNING);
        atomic_store(&writer.must_end, true);
        if (has_writer)
            pthread_join(writer.thread, NULL);
        check_account(world->process);
        ft_children_check(&world->job, world->writer, 0, true);
    }
    close_world(world);
    return 0;
}
