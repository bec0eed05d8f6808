// SPDX-License-Identifier: MIT
#include "cmocka_all.h"
#include "proto/trace_set.h"
#include "trace_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OFFSET_NS 1000000000000

static char folder[64];
static const char *const names[] = {"a.flow", "b.flow", "c.flow", "empty.flow"};

static const char *path_of(size_t name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, names[name]);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/test_trace_set_apart.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlink(path_of(i));
    return rmdir(folder);
}

static void write_at(const char *path, const char *mode, long offset, const void *data, size_t len)
{
    FILE *file = fopen(path, mode);

    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

// A file of a host of its own, without a clock record.
static struct ft_trace_writer *begin_file(size_t name)
{
    struct ft_trace_header header = full_header();
    struct ft_trace_process process = {.pid = 10, .start_ns = 1000, .segment = 99, .emitted = 1};
    struct ft_trace_writer *writer;

    header.host = FT_BYTES(names[name]);
    header.realtime_offset_ns = OFFSET_NS;
    assert_int_equal(ft_trace_writer_create(&header, NULL, &writer), 0);
    assert_int_equal(ft_trace_writer_new_process(writer, &process), 1);
    assert_int_equal(ft_trace_writer_new_thread(writer, &(struct ft_trace_thread){.process = 1, .tid = 10}), 1);
    return writer;
}

static void add_block(struct ft_trace_writer *writer, int64_t start_ns)
{
    struct ft_event event = {.thread = 1, .fd = -1, .start_ns = start_ns, .dur_ns = 10};

    assert_int_equal(ft_trace_writer_add(writer, &event), 0);
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
}

static void write_file(size_t name)
{
    struct ft_trace_writer *writer = begin_file(name);
    struct made made;

    add_block(writer, 5000 + (int64_t)name);
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    made = take(writer);
    ft_trace_writer_destroy(writer);
    write_at(path_of(name), "w", 0, made.data, made.len);
    free(made.data);
}

// Its frame no longer holds.
static void lose_header(size_t name)
{
    write_at(path_of(name), "r+", 5, "\x55", 1);
}

static struct ft_trace_set *open_path(const char *path, size_t left_out_count, uint64_t events)
{
    struct ft_trace_set *set;
    size_t count;

    assert_int_equal(ft_trace_set_open(&path, 1, NULL, &set, NULL), 0);
    ft_trace_set_left_out(set, &count);
    assert_int_equal(count, left_out_count);
    assert_int_equal(ft_trace_set_events(set), events);
    return set;
}

static void what_has_no_clock_is_left_out_beside_others(void **state)
{
    const struct ft_trace_set_left_out *left_out;
    struct ft_trace_set *set;
    int64_t start, end;
    size_t count;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        write_file(i);
    write_at(path_of(3), "w", 0, "", 0); // says nothing: there is nothing to leave out
    ft_trace_set_close(open_path(folder, 0, 3));
    lose_header(1);
    set = open_path(folder, 1, 2);
    left_out = ft_trace_set_left_out(set, &count);
    assert_string_equal(left_out[0].path, path_of(1));
    assert_null(left_out[0].copy_of);
    assert_true(ft_trace_set_is_partial(set));
    assert_int_equal(ft_trace_set_reader_count(set), 3);
    assert_true(ft_trace_set_span(set, &start, &end));
    assert_int_equal(start, OFFSET_NS + 1000);
    ft_trace_set_close(set);
    ft_trace_set_close(open_path(path_of(1), 0, 1));
}

static void of_those_without_a_clock_one_is_read(void **state)
{
    (void)state;
    lose_header(0);
    lose_header(2);
    ft_trace_set_close(open_path(folder, 2, 1));
}

// Else neither would be: what has no clock is left out.
static void a_copy_without_a_clock_stands_for_none_that_has_one(void **state)
{
    const struct ft_trace_set_left_out *left_out;
    struct ft_trace_writer *writer = begin_file(0);
    struct ft_trace_set *set;
    struct made begin, rest;
    int64_t start, end;
    size_t count;

    (void)state;
    add_block(writer, 5000);
    begin = take(writer);
    add_block(writer, 6000);
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    rest = take(writer);
    ft_trace_writer_destroy(writer);
    for (size_t i = 0; i < 2; i++)
        write_at(path_of(i), "w", 0, begin.data, begin.len);
    write_at(path_of(1), "a", 0, rest.data, rest.len);
    lose_header(1);
    write_file(2);
    set = open_path(folder, 1, 2);
    left_out = ft_trace_set_left_out(set, &count);
    assert_string_equal(left_out[0].path, path_of(1));
    assert_string_equal(left_out[0].copy_of, path_of(0));
    assert_true(ft_trace_set_span(set, &start, &end));
    assert_int_equal(start, OFFSET_NS + 1000);
    ft_trace_set_close(set);
    free(begin.data);
    free(rest.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_without_a_clock_stands_for_none_that_has_one),
        cmocka_unit_test(what_has_no_clock_is_left_out_beside_others),
        cmocka_unit_test(of_those_without_a_clock_one_is_read),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
