// SPDX-License-Identifier: MIT
#include "trace_make.h"

#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

struct made take(struct ft_trace_writer *writer)
{
    struct made made = {0};
    const uint8_t *data = ft_trace_writer_data(writer, &made.len);

    made.data = malloc(made.len + 1);
    assert_non_null(made.data);
    if (made.len)
        memcpy(made.data, data, made.len);
    ft_trace_writer_consume(writer, made.len);
    return made;
}

struct ft_trace_header full_header(void)
{
    return (struct ft_trace_header){
        .writer = FT_BYTES("test 1.0"),
        .host = FT_BYTES("node7.example"),
        .boot_id = FT_BYTES("01234567-89ab-cdef-0123-456789abcdef"),
        .user = FT_BYTES("alice"),
        .uid = 1234,
        .job = {.id = FT_BYTES("job 42"),
                .workflow = FT_BYTES("wf"),
                .step = FT_BYTES("0"),
                .source = FT_JOB_SOURCE_CGROUP,
                .rank = -1,
                .local_rank = -1},
        .realtime_offset_ns = 1700000000000000000,
        .clock_error_ns = 300,
        .created_ns = 1700000001000000000,
        .part = 3,
    };
}

struct ft_trace_process full_process(void)
{
    static const struct ft_bytes argv[] = {{"prog", 4}, {"", 0}, {"a\nb\0c", 5}, {"\xff\xfe", 2}};
    static const struct ft_tag claims[] = {{{"SLURM_JOB_ID", 12}, {"42", 2}}, {{"E", 1}, {"", 0}}};
    static const struct ft_tag tags[] = {{{"team", 4}, {"\xf0\x9f\x98\x80", 4}}};
    static const struct ft_trace_in_call in_call[] = {{77, 1023, 0, 123456789}, {78, 1, 0, -5}};
    static const struct ft_trace_dropped dropped[] = {{5, 10, UINT64_MAX, 12}, {0, 1, 0, 0}};

    return (struct ft_trace_process){
        .pid = 4000000,
        .ns_pid = 17,
        .parent_pid = 1,
        .is_exec = true,
        .start_ns = -1,
        .end_ns = FT_TIME_LIMIT_NS - 1,
        .uid = UINT32_MAX,
        .segment = UINT64_MAX,
        .exe = FT_BYTES("/usr/bin/prog"),
        .cwd = FT_BYTES("/home/alice"),
        .user = FT_BYTES("alice"),
        .argv = argv,
        .argv_count = 4,
        .is_argv_cut = true,
        .claims = claims,
        .claims_count = 2,
        .tags = tags,
        .tags_count = 1,
        .job = {.id = FT_BYTES("42"),
                .workflow = FT_BYTES("w"),
                .step = FT_BYTES("s"),
                .source = FT_JOB_SOURCE_ENVIRONMENT,
                .step_source = FT_JOB_SOURCE_CGROUP,
                .rank_source = FT_JOB_SOURCE_ENVIRONMENT,
                .local_rank_source = FT_JOB_SOURCE_SESSION,
                .rank = 0,
                .local_rank = INT32_MAX - 1},
        .exit = FT_EXIT_SIGNAL,
        .exit_source = FT_EXIT_SOURCE_PIDFD,
        .exit_value = -9,
        .kernel = {true, 1, 2, 3, 4, 5, 6, UINT64_MAX},
        .in_call = in_call,
        .in_call_count = 2,
        .emitted = UINT64_MAX,
        .stored = 1,
        .dropped = {1, 0, 3, 0, 0, 6},
        .dropped_calls = dropped,
        .dropped_calls_count = 2,
        .names_lost = 8,
        .bad_values = 9,
    };
}

struct ft_trace_writer *ready_writer_of(uint32_t part)
{
    static const char *const paths[] = {"/data/file", "pipe:[1]", "/data", "/data/\n\"\\\xff"};
    static const uint8_t kinds[] = {FT_FILE_KIND_REGULAR, FT_FILE_KIND_PIPE, FT_FILE_KIND_DIRECTORY,
                                    FT_FILE_KIND_UNKNOWN};
    static const struct ft_tag tags[] = {{{"epoch", 5}, {"1", 1}}, {{"step", 4}, {"9", 1}}};
    struct ft_trace_header header = full_header();
    struct ft_trace_process process = full_process();
    struct ft_trace_writer *writer;

    header.part = part;
    assert_int_equal(ft_trace_writer_create(&header, NULL, &writer), 0);
    process.in_call_count = 0;
    assert_int_equal(ft_trace_writer_new_process(writer, &process), 1);
    for (uint32_t i = 0; i < 2; i++) {
        struct ft_trace_thread thread = {.process = 1, .tid = 100 + i, .ordinal = i, .name = FT_BYTES("worker")};

        assert_int_equal(ft_trace_writer_new_thread(writer, &thread), i + 1);
    }
    for (uint32_t i = 0; i < 4; i++) {
        struct ft_trace_file file = {.kind = kinds[i], .dev = 0x801, .inode = 5 + i};

        file.path = (uint32_t)ft_trace_writer_name(writer, FT_BYTES(paths[i]));
        file.mount = (uint32_t)ft_trace_writer_name(writer, FT_BYTES("/data"));
        assert_int_equal(ft_trace_writer_file(writer, &file), i + 1);
    }
    assert_int_equal(ft_trace_writer_context(writer, tags, 2), 1);
    return writer;
}

struct ft_trace_writer *ready_writer(void)
{
    return ready_writer_of(full_header().part);
}

uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

uint64_t any_number(uint64_t *state)
{
    uint64_t number = next_random(state);

    switch (next_random(state) % 8) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    case 2:
        return UINT64_C(1) << 63;
    case 3:
        return (UINT64_C(1) << 63) - 1;
    default:
        return number >> (next_random(state) % 64);
    }
}

struct ft_event any_event(uint64_t *state)
{
    struct ft_event event = {
        .start_ns = (int64_t)(any_number(state) % (uint64_t)FT_TIME_LIMIT_NS),
        .dur_ns = (int64_t)(any_number(state) % (uint64_t)FT_TIME_LIMIT_NS),
        .thread = 1 + (uint32_t)(next_random(state) % 2),
        .file = (uint32_t)(next_random(state) % 5),
        .file2 = next_random(state) % 4 ? 0 : (uint32_t)(next_random(state) % 5),
        .fd = next_random(state) % 2 ? (int32_t)any_number(state) : (int32_t)(next_random(state) % 4) - 1,
        .context = (uint32_t)(next_random(state) % 2),
        .name = (uint32_t)(next_random(state) % 3),
        .category = (uint32_t)(next_random(state) % 3),
        .call = (uint16_t)(next_random(state) % (next_random(state) % 2 ? 4 : FT_TRACE_CALL_MAX)),
        .flags = (uint16_t)(any_number(state)),
        .kind = (uint8_t)(next_random(state) % FT_EVENT_KIND_COUNT),
        .has = (uint8_t)(next_random(state) % 64),
    };

    if (next_random(state) % 2)
        event.start_ns = -event.start_ns;
    // Values that follow from each other, as in real rows, and values that do not.
    event.size = event.has & FT_HAS_SIZE ? (int64_t)any_number(state) : 0;
    event.offset = event.has & FT_HAS_OFFSET ? (int64_t)any_number(state) : 0;
    if (event.has & FT_HAS_RESULT) {
        const int64_t results[] = {event.size, event.offset, event.fd, -1, 0, (int64_t)any_number(state)};

        event.result = results[next_random(state) % 6];
    }
    if (event.has & FT_HAS_BYTES)
        event.bytes = next_random(state) % 2 ? (uint64_t)event.result : any_number(state);
    if (event.has & FT_HAS_ARG)
        event.arg = any_number(state);
    if (event.has & FT_HAS_ERR)
        event.err = next_random(state) % 2 ? (int32_t)any_number(state) : 2;
    return event;
}

void assert_event_equal(const struct ft_event *got, const struct ft_event *wanted)
{
#define SAME(field)                  \
    if (got->field != wanted->field) \
        fail_msg(#field " is %lld instead of %lld", (long long)got->field, (long long)wanted->field);
    SAME(start_ns)
    SAME(dur_ns)
    SAME(thread)
    SAME(file)
    SAME(file2)
    SAME(fd)
    SAME(has)
    SAME(size)
    SAME(offset)
    SAME(result)
    SAME(bytes)
    SAME(arg)
    SAME(err)
    SAME(context)
    SAME(name)
    SAME(category)
    SAME(call)
    SAME(flags)
    SAME(kind)
#undef SAME
}

static void add_records(struct ft_trace_writer *writer)
{
    struct ft_trace_gap gap = {.kind = FT_GAP_STATIC,
                               .parent = 77,
                               .inside_pid = 3,
                               .pid = 9,
                               .process = 1,
                               .count = 2,
                               .when_ns = 5,
                               .exe = FT_BYTES("/bin/static"),
                               .reason = FT_BYTES("statically linked")};
    struct ft_trace_loss loss = {.cause = FT_CAUSE_DISK_FULL, .process = 1, .count = 3, .when_ns = 6};
    struct ft_trace_clock clock = {.mono_ns = 7, .ticks = 8, .realtime_offset_ns = 1700000000000000001};
    struct ft_trace_call call = {.name = FT_BYTES("pread"), .category = FT_BYTES("POSIX"), .group = 1};

    assert_int_equal(ft_trace_writer_put_gap(writer, &gap), 0);
    assert_int_equal(ft_trace_writer_put_loss(writer, &loss), 0);
    assert_int_equal(ft_trace_writer_put_clock(writer, &clock), 0);
    assert_int_equal(ft_trace_writer_put_call(writer, 4, &call), 0);
}

struct made small_trace(struct ft_event *events, size_t *event_count)
{
    struct ft_trace_range ranges[] = {{7, 1, 0, 0, 126}, {7, 2, 0, 0, 126}, {8, 1, 3, 5, 9}};
    struct ft_trace_writer *writer = ready_writer();
    uint64_t random = 4242;
    size_t count = 0;
    struct made made;

    add_records(writer);
    for (int block = 0; block < 3; block++) {
        for (int64_t i = 0; i < 100; i++, count++) {
            struct ft_event event = any_event(&random);

            // In order, so that the reader gives them back in this order.
            event.thread = i < 50 ? 1 : 2;
            event.start_ns = block * 1000 + i;
            event.dur_ns = (int64_t)(next_random(&random) % 1000);
            event.call = 4;
            event.kind = FT_EVENT_CALL;
            event.name = event.category = 0;
            assert_int_equal(ft_trace_writer_add(writer, &event), 0);
            if (events)
                events[count] = event;
        }
        assert_int_equal(ft_trace_writer_end_block(writer, ranges, 3), 0);
    }
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    made = take(writer);
    ft_trace_writer_destroy(writer);
    if (event_count)
        *event_count = count;
    return made;
}

struct ft_trace_reader *open_made(struct made made)
{
    struct ft_trace_reader *reader;
    size_t problems;

    assert_int_equal(ft_trace_reader_open_memory(made.data, made.len, NULL, &reader), 0);
    ft_trace_reader_problems(reader, &problems);
    assert_int_equal(problems, 0);
    assert_false(ft_trace_reader_is_partial(reader));
    assert_true(ft_trace_reader_is_closed(reader));
    return reader;
}
