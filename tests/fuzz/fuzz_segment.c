// SPDX-License-Identifier: MIT
//
// The drain over a segment that a client has scribbled in, also between two looks. The input is a list of patches
// (offset, length, bytes) to a small segment with some good records; an empty patch is a look. Where the input's first
// byte is odd, a thread goes on applying all patches while the daemon looks; where its second bit is set, sums are kept in
// place of events; where its third is, what is written is read back, and must be sound. In the end the account must close.
//
// The mutator knows patches, and what an application's own records look like.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/account.h"
#include "daemon/daemon.h"
#include "daemon/ending.h"
#include "proto/annotate.h"
#include "proto/trace_reader.h"
#include "tests/unit/daemon/segment_maker.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

enum { CHUNKS = 16, STRING_FIRST = 40, STRING_COUNT = 8 };

enum { HAS_WRITER = 1, IS_PROFILE = 2, IS_READ_BACK = 4 }; // of the first byte

struct world {
    struct maker maker;
    struct ft_job job;
    struct ft_process *process;
    struct ft_clock_view view;
    struct ft_lives lives;
    struct ft_trace_writer *writer;
    struct ft_drain drain;
    uint32_t block;
    unsigned ways;
    uint8_t *file; // what is to be read back
    size_t file_bytes;
};

static struct ft_daemon some_daemon;
static struct ft_mounts mounts;
static struct ft_clock_pairs clock_pairs;

static uint64_t string_id(unsigned i)
{
    return STRING_FIRST + i % STRING_COUNT;
}

// Every record of an application, in lines of their own behind the calls'.
static void fill_annotations(struct maker *maker)
{
    static const char *const strings[STRING_COUNT] = {"name",    "category", "key",      "epoch=1",
                                                      "epoch=2", "epoch=",   "batch=17", "other"};
    for (uint32_t line = 3; line < 5; line++)
        for (unsigned i = 0; i < STRING_COUNT; i++)
            maker_define(maker, line, (uint32_t)string_id(i), 0, FT_DEFINE_STRING, strings[i]);
    for (unsigned i = 0; i < 20; i++) {
        uint32_t line = 3 + i % 2;
        uint64_t names = string_id(0) | string_id(1) << 32, key = string_id(2);
        uint64_t with_args[] = {maker_end(maker, line) | UINT64_C(9) << 40,
                                names,
                                0,
                                0,
                                FT_ARG_WORD(key, FT_ARG_INTEGER, 0),
                                i,
                                FT_ARG_WORD(key, FT_ARG_TEXT, 11),
                                0x6f6c6c6568,
                                0x616161};
        uint64_t asynchronous[] = {maker_end(maker, line) | (uint64_t)FT_DURATION_EXT << 40,
                                   names,
                                   (uint64_t)FT_RESULT_EXT << 60,
                                   FT_EXT_DURATION | FT_EXT_RESULT | FT_EXT_CORRELATION,
                                   UINT64_C(1) << 30,
                                   77,
                                   i};
        uint64_t counter[] = {maker_end(maker, line), names, (uint64_t)FT_RESULT_EXT << 60, FT_EXT_RESULT,
                              UINT64_C(0x7ff8000000000000)};
        uint64_t tag[] = {string_id(3 + i % 4) | (uint64_t)(i % 3 == 0) << 32, maker_ticks()};
        uint64_t gap[] = {1 | string_id(7) << 32, 0, 0};
        maker_record(maker, line, FT_RECORD_SPAN, 2, 0, with_args, 9);
        maker_record(maker, line, FT_RECORD_SPAN, 0, 0, asynchronous, 7);
        maker_record(maker, line, FT_RECORD_INSTANT, 0, 0, with_args, 3);
        maker_record(maker, line, FT_RECORD_COUNTER, 0, i % 2 ? FT_SPAN_DOUBLE : 0, counter, 5);
        maker_record(maker, line, FT_RECORD_TAGS, 0, 0, tag, 2);
        maker_record(maker, line, FT_RECORD_GAP, i % FT_SHIM_GAP_COUNT, 0, gap, 3);
    }
}

static void fill_segment(struct maker *maker)
{
    maker_init(maker);
    maker->head->chunks_max = maker->head->chunks_ready = CHUNKS; // looks are cheaper so
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
    fill_annotations(maker);
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

// What the writer has made so far, to the file's end.
static void move_to_file(struct world *world)
{
    size_t bytes;
    const uint8_t *data = ft_trace_writer_data(world->writer, &bytes);
    if (!bytes)
        return;
    world->file = realloc(world->file, world->file_bytes + bytes);
    assert(world->file);
    memcpy(world->file + world->file_bytes, data, bytes);
    world->file_bytes += bytes;
    ft_trace_writer_consume(world->writer, bytes);
}

static void end_block(struct world *world)
{
    if (!(world->ways & IS_READ_BACK)) {
        ft_trace_writer_drop_rows(world->writer);
        return;
    }
    // Whatever the segment says, what the drain makes of it can be written.
    assert(ft_trace_writer_end_block(world->writer, NULL, 0) == 0);
    assert(ft_trace_writer_end_profile(world->writer, NULL, 0) == 0);
    move_to_file(world);
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
                end_block(world);
        } while (r == FT_DRAIN_BLOCK_FULL);
    end_block(world);
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
    ft_lives_begin(&world->lives, 1, 0);
    world->drain = (struct ft_drain){
        .batch = &world->job.batch,
        .writer = world->writer,
        .part = 1,
        .torn_wait_ns = 1000000000,
        .view = &world->view,
        .lives = &world->lives,
        .mounts = &mounts,
        .rows_max = 1000,
    };
    ft_account_put(&world->drain, world->process);
}

// Every event that counts as stored is in the file, and the file is sound.
static void check_file(struct world *world)
{
    struct ft_trace_reader *reader;
    struct ft_trace_decoder *decoder;
    const struct ft_trace_problem *problems;
    size_t blocks, profiles, count;
    if (!(world->ways & IS_READ_BACK))
        return;
    assert(ft_trace_writer_finish(world->writer) == 0);
    move_to_file(world);
    assert(ft_trace_reader_open_memory(world->file, world->file_bytes, NULL, &reader) == 0);
    assert(ft_trace_decoder_create(&decoder) == 0);
    assert(!ft_trace_reader_is_partial(reader) && ft_trace_reader_is_closed(reader));
    assert(ft_trace_reader_events(reader) + ft_trace_reader_profiled(reader) == world->process->stored);
    ft_trace_reader_blocks(reader, &blocks);
    ft_trace_reader_profiles(reader, &profiles);
    for (size_t i = 0; i < blocks + profiles; i++) {
        size_t block = i < blocks ? i : FT_TRACE_PROFILE | (i - blocks);
        assert(ft_trace_decoder_verify(decoder, reader, block, &problems, &count) == 0 && count == 0);
    }
    ft_trace_decoder_destroy(decoder);
    ft_trace_reader_close(reader);
}

static void close_world(struct world *world)
{
    free(world->file);
    ft_process_destroy(world->process);
    ft_batch_fini(&world->job.batch);
    ft_lives_fini(&world->lives);
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
    bool is_look = false;
    assert(world);
    world->ways = size > 0 ? data[0] : 0;
    bool has_writer = world->ways & HAS_WRITER;
    if (!clock_pairs.count) {
        ft_mounts_init(&mounts);
        ft_clock_init(&clock_pairs, 10000000);
        ft_clock_tick(&clock_pairs, true);
    }
    fill_segment(&world->maker);
    while (!is_look && patch(world, &data, &size, &is_look))
        ;
    if (open_world(world)) {
        world->process->mode = world->ways & IS_PROFILE ? FT_MODE_PROFILE : FT_MODE_TRACE;
        has_writer = has_writer && pthread_create(&writer.thread, NULL, write_on, &writer) == 0;
        look_at_patches(world, data, size);
        ft_ending_finish(&world->drain, world->process, 1, FT_GAP_STILL_RUNNING);
        atomic_store(&writer.must_end, true);
        if (has_writer)
            pthread_join(writer.thread, NULL);
        check_account(world->process);
        ft_children_check(&world->job, world->writer, 0, true);
        check_file(world);
    }
    close_world(world);
    return 0;
}

// ---- mutations

static uint64_t number(unsigned *state)
{
    static const uint64_t odd[] = {0, 1, 16, 17, 0xffff, UINT32_MAX, UINT64_MAX, UINT64_MAX >> 1, UINT64_C(1) << 40};
    *state = *state * 1664525u + 1013904223u;
    unsigned r = *state >> 8;
    return r % 4 ? odd[r / 4 % (sizeof(odd) / sizeof(odd[0]))] : (uint64_t)r * r;
}

// A patch that is one record of an application, somewhere in the pool. Returns its bytes.
static size_t make_patch(uint8_t *out, unsigned *state)
{
    static const uint8_t kinds[] = {FT_RECORD_SPAN, FT_RECORD_INSTANT, FT_RECORD_COUNTER,
                                    FT_RECORD_TAGS, FT_RECORD_DEFINE,  FT_RECORD_GAP};
    uint64_t words[7 * FT_SLOT_WORDS];
    unsigned slots = 1 + (unsigned)(number(state) % 7), kind = kinds[number(state) % sizeof(kinds)];
    unsigned call = (unsigned)number(state) % (number(state) % 2 ? 4 : 1024);
    for (unsigned i = 1; i < slots * FT_SLOT_WORDS; i++)
        words[i] = number(state) % 3 ? FT_ARG_WORD(string_id((unsigned)number(state)), number(state) % 5,
                                                   number(state) % (number(state) % 4 ? 64 : 0x10000))
                                     : number(state);
    if (number(state) % 2)
        words[2] = string_id((unsigned)number(state)) | string_id((unsigned)number(state)) << 32;
    words[3] = number(state) << 60;
    words[4 % (slots * FT_SLOT_WORDS)] = number(state) % 2048; // the mask
    words[0] = FT_W0(kind, slots, call, (unsigned)number(state) % 8192, 1, FT_FD16_NONE);
    size_t offset = (size_t)(POOL_PAGE + number(state) % CHUNKS) * FT_PAGE_BYTES + FT_CHUNK_HEAD_BYTES +
                    (size_t)(number(state) % FT_CHUNK_SLOTS) * FT_SLOT_BYTES;
    out[0] = (uint8_t)offset;
    out[1] = (uint8_t)(offset >> 8);
    out[2] = (uint8_t)(offset >> 16);
    out[3] = (uint8_t)(slots * FT_SLOT_BYTES);
    memcpy(out + 4, words, slots * FT_SLOT_BYTES);
    return 4 + slots * FT_SLOT_BYTES;
}

// Half of the time a record is put between two patches; else the bytes are changed as they are anywhere.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint8_t made[4 + 7 * FT_SLOT_BYTES];
    unsigned state = seed, skips = (unsigned)(number(&state) % 8);
    size_t at = 0, bytes = make_patch(made, &state);
    if (seed % 2 || size > max_size || max_size - size < bytes)
        return LLVMFuzzerMutate(data, size, max_size);
    while (skips-- && size - at >= 4 && data[at + 3] <= size - at - 4)
        at += 4 + (size_t)data[at + 3];
    memmove(data + at + bytes, data + at, size - at);
    memcpy(data + at, made, bytes);
    return size + bytes;
}
