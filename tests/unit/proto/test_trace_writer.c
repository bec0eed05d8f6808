// SPDX-License-Identifier: MIT
#include "cmocka_all.h"
#include "proto/calls.h"
#include "trace_make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void ids_that_were_never_given_are_refused(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    const struct ft_event good = {.thread = 1, .fd = -1};
    struct ft_trace_process process = {.parent = 2};

    (void)state;
#define REFUSED(field, value)                                           \
    do {                                                                \
        struct ft_event event = good;                                   \
        event.field = (value);                                          \
        assert_int_equal(ft_trace_writer_add(writer, &event), -EINVAL); \
    } while (0)
    REFUSED(thread, 0);
    REFUSED(thread, 3);
    REFUSED(file, 5);
    REFUSED(file2, 5);
    REFUSED(context, 2);
    REFUSED(name, 100);
    REFUSED(category, 100);
    REFUSED(call, FT_TRACE_CALL_MAX);
    REFUSED(kind, FT_EVENT_KIND_COUNT);
    REFUSED(dur_ns, -1);
    REFUSED(dur_ns, FT_TIME_LIMIT_NS);
    REFUSED(start_ns, FT_TIME_LIMIT_NS);
    REFUSED(start_ns, -FT_TIME_LIMIT_NS);
#undef REFUSED
    assert_int_equal(ft_trace_writer_rows(writer), 0);
    assert_int_equal(ft_trace_writer_add(writer, &good), 0);
    assert_int_equal(ft_trace_writer_new_process(writer, &process), -EINVAL);
    assert_int_equal(ft_trace_writer_put_process(writer, 2, &process), -EINVAL);
    assert_int_equal(ft_trace_writer_put_process(writer, 0, &process), -EINVAL);
    assert_int_equal(ft_trace_writer_new_thread(writer, &(struct ft_trace_thread){.process = 2}), -EINVAL);
    assert_int_equal(ft_trace_writer_file(writer, &(struct ft_trace_file){.path = 1000}), -EINVAL);
    assert_int_equal(ft_trace_writer_finish(writer), -EINVAL);
    ft_trace_writer_drop_rows(writer);
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    assert_int_equal(ft_trace_writer_add(writer, &good), -EPIPE);
    assert_int_equal(ft_trace_writer_name(writer, FT_BYTES("late")), -EPIPE);
    ft_trace_writer_destroy(writer);
}

static void the_same_strings_and_files_have_the_same_ids(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    struct ft_trace_file file = {.kind = FT_FILE_KIND_TTY, .dev = 1, .inode = 2};
    const struct ft_tag tags[] = {{FT_BYTES("a"), FT_BYTES("b")}};
    int64_t name, first;

    (void)state;
    name = ft_trace_writer_name(writer, FT_BYTES("one"));
    assert_int_equal(ft_trace_writer_name(writer, FT_BYTES("one")), name);
    assert_int_not_equal(ft_trace_writer_name(writer, FT_BYTES("on")), name);
    file.path = (uint32_t)name;
    first = ft_trace_writer_file(writer, &file);
    assert_int_equal(ft_trace_writer_file(writer, &file), first);
    file.is_cut = true;
    assert_int_not_equal(ft_trace_writer_file(writer, &file), first);
    assert_int_equal(ft_trace_writer_context(writer, tags, 1), 2);
    assert_int_equal(ft_trace_writer_context(writer, tags, 1), 2);
    assert_int_equal(ft_trace_writer_context(writer, tags, 0), 0);
    ft_trace_writer_destroy(writer);
}

static void add_block(struct ft_trace_writer *writer, int64_t start_ns)
{
    struct ft_event event = {.thread = 1, .fd = 3, .start_ns = start_ns};

    assert_int_equal(ft_trace_writer_add(writer, &event), 0);
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
}

// Moves up to `len` bytes to the file.
static void write_some(struct ft_trace_writer *writer, struct made *file, size_t len)
{
    size_t left;
    const uint8_t *data = ft_trace_writer_data(writer, &left);

    len = len < left ? len : left;
    file->data = realloc(file->data, file->len + len + 1);
    if (len)
        memcpy(file->data + file->len, data, len);
    file->len += len;
    ft_trace_writer_consume(writer, len);
}

static void a_file_written_byte_by_byte_is_the_same(void **state)
{
    struct made whole = small_trace(NULL, NULL), file = {0};
    struct ft_trace_writer *writer = ready_writer();
    struct ft_trace_reader *reader;
    size_t left = 1;

    (void)state;
    for (int64_t i = 0; i < 5; i++) {
        add_block(writer, i);
        write_some(writer, &file, 11);
    }
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    for (; left; ft_trace_writer_data(writer, &left))
        write_some(writer, &file, 1);
    assert_int_equal(file.len, ft_trace_writer_bytes(writer));
    assert_int_equal(ft_trace_writer_whole(writer), file.len);
    assert_int_equal(ft_trace_reader_open_memory(file.data, file.len, NULL, &reader), 0);
    assert_false(ft_trace_reader_is_partial(reader));
    assert_true(ft_trace_reader_is_closed(reader));
    assert_int_equal(ft_trace_reader_events(reader), 5);
    ft_trace_reader_close(reader);
    ft_trace_writer_destroy(writer);
    free(file.data);
    free(whole.data);
}

static void a_full_disk_costs_blocks_and_no_records(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    struct made file = {0};
    struct ft_trace_reader *reader;
    size_t problems;

    (void)state;
    add_block(writer, 1);
    write_some(writer, &file, SIZE_MAX);
    // The disk is full in the middle of the next block.
    assert_int_equal(ft_trace_writer_name(writer, FT_BYTES("written later")) > 0, 1);
    add_block(writer, 2);
    add_block(writer, 3);
    write_some(writer, &file, 15);
    assert_int_equal(ft_trace_writer_drop_blocks(writer), 0);
    file.len = ft_trace_writer_whole(writer);
    ft_trace_writer_rewind(writer);
    assert_int_equal(ft_trace_writer_drop_blocks(writer), 2);
    assert_int_equal(ft_trace_writer_events(writer), 1);
    add_block(writer, 4);
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    write_some(writer, &file, SIZE_MAX);
    assert_int_equal(ft_trace_reader_open_memory(file.data, file.len, NULL, &reader), 0);
    ft_trace_reader_problems(reader, &problems);
    assert_int_equal(problems, 0);
    assert_int_equal(ft_trace_reader_events(reader), 2);
    assert_string_equal(ft_trace_reader_name(reader, ft_trace_reader_name_max(reader)).data, "written later");
    ft_trace_reader_close(reader);
    ft_trace_writer_destroy(writer);
    free(file.data);
}

static bool describe(unsigned call, struct ft_trace_call *out)
{
    *out = (struct ft_trace_call){.name = FT_BYTES("some call"), .category = FT_BYTES("POSIX"), .group = 2};
    return call == 7;
}

static void calls_are_described_at_first_use(void **state)
{
    struct ft_trace_writer_options options = {.describe_call = describe};
    struct ft_trace_header header = {.host = FT_BYTES("h")};
    struct ft_event event = {.thread = 1, .fd = -1};
    struct ft_trace_writer *writer;
    struct ft_trace_reader *reader;
    struct made made;

    (void)state;
    assert_int_equal(ft_trace_writer_create(&header, &options, &writer), 0);
    assert_int_equal(ft_trace_writer_new_process(writer, &(struct ft_trace_process){.pid = 1}), 1);
    assert_int_equal(ft_trace_writer_new_thread(writer, &(struct ft_trace_thread){.process = 1}), 1);
    for (event.call = 6; event.call < 9; event.call++)
        assert_int_equal(ft_trace_writer_add(writer, &event), 0);
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    made = take(writer);
    ft_trace_writer_destroy(writer);
    assert_int_equal(ft_trace_reader_open_memory(made.data, made.len, NULL, &reader), 0);
    assert_string_equal(ft_trace_reader_call(reader, 7)->name.data, "some call");
    assert_int_equal(ft_trace_reader_call(reader, 7)->group, 2);
    assert_null(ft_trace_reader_call(reader, 6));
    assert_false(ft_trace_reader_is_closed(reader));
    assert_false(ft_trace_reader_is_partial(reader));
    ft_trace_reader_close(reader);
    free(made.data);
}

static void calls_of_the_table_are_described_without_being_told(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    struct ft_event event = {.thread = 1, .fd = -1, .call = FT_CALL_ID_pread64};
    struct ft_trace_reader *reader;
    struct made made;

    (void)state;
    assert_int_equal(ft_trace_writer_add(writer, &event), 0);
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    made = take(writer);
    ft_trace_writer_destroy(writer);
    reader = open_made(made);
    assert_string_equal(ft_trace_reader_call(reader, event.call)->name.data, "pread64");
    assert_string_equal(ft_trace_reader_call(reader, event.call)->category.data, "POSIX");
    assert_int_equal(ft_trace_reader_call(reader, event.call)->group, FT_GROUP_READ);
    ft_trace_reader_close(reader);
    free(made.data);
}

static void memory_is_counted_and_given_back(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    struct ft_event event = {.thread = 1, .fd = -1};
    size_t idle = ft_trace_writer_memory(writer), busy;

    (void)state;
    for (size_t i = 0; i < FT_TRACE_BLOCK_ROWS_MAX; i++) {
        event.start_ns += (int64_t)i % 1000;
        assert_int_equal(ft_trace_writer_add(writer, &event), 0);
    }
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    busy = ft_trace_writer_memory(writer);
    assert_true(busy > idle + FT_TRACE_BLOCK_ROWS_MAX * sizeof(event));
    free(take(writer).data);
    ft_trace_writer_trim(writer);
    assert_true(ft_trace_writer_memory(writer) < idle + 65536);
    assert_int_equal(ft_trace_writer_add(writer, &event), 0);
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    ft_trace_writer_destroy(writer);
}

static void strings_and_lists_over_their_maximum_are_refused(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    static char text[FT_TRACE_STRING_MAX + 1];
    static struct ft_bytes argv[FT_TRACE_LIST_MAX + 1];
    struct ft_trace_process process = {.exe = {text, sizeof(text)}};

    (void)state;
    assert_int_equal(ft_trace_writer_put_process(writer, 1, &process), -EINVAL);
    process.exe.len--;
    assert_int_equal(ft_trace_writer_put_process(writer, 1, &process), 0);
    process.argv = argv;
    process.argv_count = FT_TRACE_LIST_MAX + 1;
    assert_int_equal(ft_trace_writer_put_process(writer, 1, &process), -EINVAL);
    // 4 MiB of one record is too much.
    process.argv_count = 100;
    for (size_t i = 0; i < 100; i++)
        argv[i] = (struct ft_bytes){text, FT_TRACE_STRING_MAX};
    assert_int_equal(ft_trace_writer_put_process(writer, 1, &process), -EINVAL);
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    ft_trace_writer_destroy(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_that_were_never_given_are_refused),
        cmocka_unit_test(the_same_strings_and_files_have_the_same_ids),
        cmocka_unit_test(a_file_written_byte_by_byte_is_the_same),
        cmocka_unit_test(a_full_disk_costs_blocks_and_no_records),
        cmocka_unit_test(calls_are_described_at_first_use),
        cmocka_unit_test(calls_of_the_table_are_described_without_being_told),
        cmocka_unit_test(memory_is_counted_and_given_back),
        cmocka_unit_test(strings_and_lists_over_their_maximum_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
