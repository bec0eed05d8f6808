// SPDX-License-Identifier: MIT
//
// Names and files that are read when they are asked for are those that are read at once.
#include "cmocka_all.h"
#include "proto/buffer.h"
#include "proto/frame.h"
#include "proto/trace.pb-c.h"
#include "proto/trace_set.h"
#include "trace_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLUSHES = 7, NAMES_EACH = 300 };

static size_t renamed;

static struct ft_bytes count_names(void *context, struct ft_bytes name)
{
    (void)context;
    renamed++;
    return name;
}

static struct ft_trace_reader *open_bytes(const void *data, size_t len, bool is_deferred)
{
    struct ft_trace_reader_options options = {.defer_names = is_deferred, .rename = count_names};
    struct ft_trace_reader *reader;

    renamed = 0;
    assert_int_equal(ft_trace_reader_open_memory(data, len, &options, &reader), 0);
    return reader;
}

// Some frames of names, some with files, all with records of other kinds.
static struct made many_names_of(uint32_t part)
{
    struct ft_trace_writer *writer = ready_writer_of(part);

    for (unsigned flush = 0; flush < FLUSHES; flush++) {
        for (unsigned i = 0; i < NAMES_EACH; i++) {
            char text[64];
            int len = snprintf(text, sizeof(text), "/data/%u/%08u", flush, i * 7919);
            int64_t name = ft_trace_writer_name(writer, (struct ft_bytes){.data = text, .len = (size_t)len});
            struct ft_trace_file file = {
                .path = (uint32_t)name, .mount = 1, .inode = i + 1, .dev = flush + 1, .kind = 1};

            assert_true(name > 0);
            assert_true(flush % 3 == 2 || ft_trace_writer_file(writer, &file) > 0);
        }
        struct ft_trace_process process = full_process();

        process.pid = flush + 1;
        assert_true(ft_trace_writer_new_process(writer, &process) > 0);
        assert_int_equal(ft_trace_writer_flush(writer), 0);
    }
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    struct made made = take(writer);

    ft_trace_writer_destroy(writer);
    return made;
}

static struct made many_names(void)
{
    return many_names_of(0);
}

static void assert_same_name(const struct ft_trace_reader *a, const struct ft_trace_reader *b, uint32_t id)
{
    struct ft_bytes x = ft_trace_reader_name(a, id), y = ft_trace_reader_name(b, id);

    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.data, y.data, x.len + 1);
}

static void assert_same_file(const struct ft_trace_reader *a, const struct ft_trace_reader *b, uint32_t id)
{
    struct ft_trace_file x = ft_trace_reader_file(a, id), y = ft_trace_reader_file(b, id);

    assert_int_equal(x.is_known, y.is_known);
    assert_int_equal(x.path, y.path);
    assert_int_equal(x.mount, y.mount);
    assert_int_equal(x.dev, y.dev);
    assert_int_equal(x.inode, y.inode);
    assert_int_equal(x.kind, y.kind);
    assert_int_equal(ft_trace_reader_file_class(a, id), ft_trace_reader_file_class(b, id));
}

static void what_is_asked_for_is_what_is_read_at_once(void **state)
{
    struct made made = many_names();
    struct ft_trace_reader *whole = open_bytes(made.data, made.len, false);
    size_t all = renamed, count;
    struct ft_trace_reader *deferred = open_bytes(made.data, made.len, true);
    uint64_t random = 5;

    (void)state;
    assert_int_equal(all, ft_trace_reader_name_max(whole));
    assert_int_equal(renamed, 0);
    assert_false(ft_trace_reader_is_partial(deferred));
    ft_trace_reader_problems(deferred, &count);
    assert_int_equal(count, 0);
    assert_int_equal(ft_trace_reader_process_max(deferred), ft_trace_reader_process_max(whole));
    for (unsigned i = 0; i < 3000; i++) {
        assert_same_name(whole, deferred, (uint32_t)(next_random(&random) % (all + 50)));
        assert_same_file(whole, deferred, (uint32_t)(next_random(&random) % (all + 50)));
    }
    assert_int_equal(renamed, all);
    assert_int_equal(ft_trace_reader_name_max(deferred), ft_trace_reader_name_max(whole));
    assert_int_equal(ft_trace_reader_file_max(deferred), ft_trace_reader_file_max(whole));
    ft_trace_reader_close(whole);
    ft_trace_reader_close(deferred);
    free(made.data);
}

static void one_name_costs_one_frame_and_the_most_all(void **state)
{
    struct made made = many_names();
    struct ft_trace_reader *reader = open_bytes(made.data, made.len, true);

    (void)state;
    assert_true(ft_trace_reader_name(reader, NAMES_EACH * 3).len > 0);
    assert_in_range(renamed, 1, NAMES_EACH + 50);
    assert_true(ft_trace_reader_name_max(reader) >= FLUSHES * NAMES_EACH);
    assert_int_equal(renamed, ft_trace_reader_name_max(reader));
    ft_trace_reader_close(reader);
    free(made.data);
}

static void add_message(struct ft_buffer *file, unsigned kind, const ProtobufCMessage *message)
{
    uint8_t header[FT_FRAME_HEADER_BYTES], packed[4096];
    size_t len = protobuf_c_message_pack(message, packed);

    assert_true(len <= sizeof(packed));
    ft_frame_encode(header, kind, 0, packed, (uint32_t)len, NULL, 0);
    assert_int_equal(ft_buffer_append(file, header, sizeof(header)), 0);
    assert_int_equal(ft_buffer_append(file, packed, len), 0);
}

// A frame with one name and, before it, the ids above 0 that say where names begin.
static void add_name(struct ft_buffer *file, uint32_t id, const char *text, uint32_t first_name, uint32_t first_file)
{
    Flowtap__Tables tables = FLOWTAP__TABLES__INIT, mark = FLOWTAP__TABLES__INIT;
    Flowtap__Names names = FLOWTAP__NAMES__INIT, *list = &names;
    ProtobufCBinaryData rest = {.data = (uint8_t *)(uintptr_t)text, .len = strlen(text)};
    uint8_t header[FT_FRAME_HEADER_BYTES], packed[4096];
    uint32_t shared = 0;
    size_t len;

    names.first_id = id;
    names.n_shared = names.n_rest = 1;
    names.shared = &shared;
    names.rest = &rest;
    tables.n_names = 1;
    tables.names = &list;
    mark.first_name = first_name;
    mark.first_file = first_file;
    len = flowtap__tables__pack(&mark, packed);
    len += flowtap__tables__pack(&tables, packed + len);
    ft_frame_encode(header, FT_FRAME_TABLES, 0, packed, (uint32_t)len, NULL, 0);
    assert_int_equal(ft_buffer_append(file, header, sizeof(header)), 0);
    assert_int_equal(ft_buffer_append(file, packed, len), 0);
}

static const struct {
    uint32_t first_name, first_file;
    size_t read_at_once;
    const char *why;
} marks[] = {
    {0, 0, 1, "a file of before has no mark"},
    {2, 0, 1, "half a mark is none"},
    {0, 1, 1, "the other half is none"},
    {2, 1, 0, "a mark"},
    {1, 1, 0, "ids may begin earlier than they do"},
};

static void frames_without_a_mark_are_read_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        Flowtap__Header header = FLOWTAP__HEADER__INIT;
        struct ft_buffer file = {0};
        struct ft_trace_reader *reader;

        header.major = FT_TRACE_MAJOR;
        add_message(&file, FT_FRAME_HEADER, &header.base);
        add_name(&file, 2, "two", marks[i].first_name, marks[i].first_file);
        reader = open_bytes(file.data, file.len, true);
        if (renamed != marks[i].read_at_once)
            fail_msg("%s: %zu names read", marks[i].why, renamed);
        assert_string_equal(ft_trace_reader_name(reader, 2).data, "two");
        ft_trace_reader_close(reader);
        ft_buffer_fini(&file);
    }
}

// Marks that go back cannot be searched: such a frame is read at once.
static void marks_that_go_back_lose_no_name(void **state)
{
    Flowtap__Header header = FLOWTAP__HEADER__INIT;
    struct ft_buffer file = {0};
    struct ft_trace_reader *reader;

    (void)state;
    header.major = FT_TRACE_MAJOR;
    add_message(&file, FT_FRAME_HEADER, &header.base);
    add_name(&file, 9, "nine", 9, 1);
    add_name(&file, 3, "three", 3, 1);
    add_name(&file, 12, "twelve", 12, 1);
    reader = open_bytes(file.data, file.len, true);
    assert_int_equal(renamed, 1);
    assert_string_equal(ft_trace_reader_name(reader, 3).data, "three");
    assert_string_equal(ft_trace_reader_name(reader, 12).data, "twelve");
    assert_string_equal(ft_trace_reader_name(reader, 9).data, "nine");
    ft_trace_reader_close(reader);
    ft_buffer_fini(&file);
}

// As with damage elsewhere: every cut and every flipped bit gives some answer.
static void any_byte_may_be_wrong(void **state)
{
    struct made made = many_names();
    uint64_t random = 77;

    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        size_t at = next_random(&random) % made.len;
        struct ft_trace_reader_options options = {.defer_names = true};
        struct ft_trace_reader *reader;

        made.data[at] ^= (uint8_t)(1 + next_random(&random) % 255);
        if (ft_trace_reader_open_memory(made.data, made.len, &options, &reader) == 0) {
            for (uint32_t id = 0; id < 100; id++)
                assert_non_null(ft_trace_reader_name(reader, id * 31).data);
            ft_trace_reader_close(reader);
        }
    }
    free(made.data);
}

static struct ft_trace_set *open_set(const char paths[2][32], bool is_deferred, size_t memory_max)
{
    const char *both[] = {paths[0], paths[1]};
    struct ft_trace_reader_options options = {
        .memory_max = memory_max, .skip_set_files = is_deferred, .defer_names = is_deferred, .rename = count_names};
    struct ft_trace_set *set;

    renamed = 0;
    assert_int_equal(ft_trace_set_open(both, 2, &options, &set, NULL), 0);
    return set;
}

static void assert_same_set(const struct ft_trace_set *a, const struct ft_trace_set *b)
{
    assert_int_equal(ft_trace_set_file_count(a), ft_trace_set_file_count(b));
    for (size_t r = 0; r < 2; r++) {
        const struct ft_trace_reader *x = ft_trace_set_reader(a, r), *y = ft_trace_set_reader(b, r);

        assert_int_equal(ft_trace_reader_file_max(x), ft_trace_reader_file_max(y));
        for (uint32_t id = 0; id <= ft_trace_reader_file_max(x) + 1; id++) {
            assert_int_equal(ft_trace_set_file_of(a, r, id), ft_trace_set_file_of(b, r, id));
            assert_same_file(x, y, id);
        }
        for (uint32_t id = 0; id <= ft_trace_reader_name_max(x) + 1; id++)
            assert_same_name(x, y, id);
    }
}

// Also where not all of it has room.
static void a_set_is_whole_when_its_rest_is_read(void **state)
{
    char paths[2][32] = {"/tmp/test_trace_deferred.XXXXXX", "/tmp/test_trace_deferred.XXXXXX"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct made made = many_names_of((uint32_t)i);
        int fd = mkstemp(paths[i]);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, made.data, made.len), made.len);
        close(fd);
        free(made.data);
    }
    for (size_t memory_max = 1 << 30; memory_max >= 32 << 10; memory_max /= 2) {
        struct ft_trace_set *whole = open_set(paths, false, memory_max), *set = open_set(paths, true, memory_max);
        size_t names = renamed;

        assert_int_equal(names, 0);
        assert_int_equal(ft_trace_set_file_count(set), 0);
        assert_int_equal(ft_trace_set_read_rest(set), 0);
        assert_true(renamed > 0 || memory_max < 1 << 20);
        assert_int_equal(ft_trace_set_is_limited(set), ft_trace_set_is_partial(set));
        // Of processes one is taken in that goes beyond.
        assert_true(ft_trace_set_memory(set) <= memory_max + (64 << 10));
        if (!ft_trace_set_is_partial(whole))
            assert_same_set(whole, set);
        assert_true(memory_max < 1 << 20 || !ft_trace_set_is_partial(set));
        ft_trace_set_close(whole);
        ft_trace_set_close(set);
    }
    unlink(paths[0]);
    unlink(paths[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_for_is_what_is_read_at_once),
        cmocka_unit_test(one_name_costs_one_frame_and_the_most_all),
        cmocka_unit_test(frames_without_a_mark_are_read_at_once),
        cmocka_unit_test(marks_that_go_back_lose_no_name),
        cmocka_unit_test(any_byte_may_be_wrong),
        cmocka_unit_test(a_set_is_whole_when_its_rest_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
