// SPDX-License-Identifier: MIT
//
// What a writer leaves for the one that goes on after it, and what readers make of a file that was gone on from.
#include "cmocka_all.h"
#include "proto/trace_resume.h"
#include "proto/trace_set.h"
#include "trace_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ft_trace_reader *reopen(struct made made)
{
    const struct ft_trace_reader_options options = {.keep_resume = true};
    struct ft_trace_reader *reader;

    assert_int_equal(ft_trace_reader_open_memory(made.data, made.len, &options, &reader), 0);
    return reader;
}

static const struct ft_trace_dropped some_dropped = {.call = 33, .count = 4, .bytes = 5, .time_ns = 6};
static const struct ft_trace_resume some_resume = {.process = 1,
                                                   .start_time = 2,
                                                   .clock = 1,
                                                   .image = 2,
                                                   .gid = 3,
                                                   .parent_segment = UINT64_MAX,
                                                   .segment_before = 7,
                                                   .stored = 8,
                                                   .vfork_rows = 9,
                                                   .first = {.is_known = true, .rchar = 10},
                                                   .children = {.is_known = true, .wchar = 11},
                                                   .dropped = {1, 0, 3},
                                                   .dropped_calls = &some_dropped,
                                                   .dropped_calls_count = 1,
                                                   .gaps = {0, 5},
                                                   .names_lost = 12,
                                                   .last_event_ns = 13};

static void check_resume(const struct ft_trace_reader *reader)
{
    size_t count;
    const struct ft_trace_resume *r = ft_trace_reader_resumes(reader, &count);

    assert_int_equal(count, 1);
    assert_true(r->process == 1 && r->start_time == 2 && r->clock == 1 && r->image == 2 && r->gid == 3);
    assert_true(r->parent_segment == UINT64_MAX && r->segment_before == 7 && r->stored == 8 && r->vfork_rows == 9);
    assert_true(r->first.is_known && r->first.rchar == 10 && r->children.wchar == 11);
    assert_memory_equal(r->dropped, some_resume.dropped, sizeof(r->dropped));
    assert_memory_equal(r->gaps, some_resume.gaps, sizeof(r->gaps));
    assert_true(r->dropped_calls_count == 1 && r->dropped_calls[0].time_ns == 6);
    assert_true(r->names_lost == 12 && r->last_event_ns == 13);
}

static void test_all_of_it_comes_back(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    const struct ft_trace_known known = {.process = 1,
                                         .id = 77,
                                         .base = 5,
                                         .bits = FT_KNOWN_KEPT | FT_KNOWN_HAS_INODE,
                                         .kind = 3,
                                         .define = 2,
                                         .length = 40,
                                         .text = FT_BYTES("part of a path"),
                                         .device = 1,
                                         .inode = UINT64_MAX,
                                         .birth = FT_FILE_BIRTH_MAX};
    const struct ft_trace_expected expected = {
        .pid = 5, .path = FT_BYTES("/bin/x"), .way = 2, .follow = 1, .since_ns = 99};
    const struct ft_trace_taken_over taken_over = {.part = 3, .bytes = 1234};
    struct ft_trace_reader *reader;
    struct made made;
    size_t count;

    (void)state;
    assert_int_equal(ft_trace_writer_put_resume(writer, &some_resume), 0);
    assert_int_equal(ft_trace_writer_put_known(writer, &known), 0);
    assert_int_equal(ft_trace_writer_put_expected(writer, &expected), 0);
    assert_int_equal(ft_trace_writer_put_taken_over(writer, &taken_over), 0);
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    made = take(writer);
    reader = reopen(made);
    check_resume(reader);
    const struct ft_trace_known *k = ft_trace_reader_known(reader, &count);
    assert_int_equal(count, 1);
    assert_true(k->process == 1 && k->id == 77 && k->base == 5 && k->bits == known.bits && k->kind == 3);
    assert_true(k->define == 2 && k->length == 40 && k->device == 1 && k->inode == UINT64_MAX);
    assert_true(k->birth == FT_FILE_BIRTH_MAX);
    assert_string_equal(k->text.data, "part of a path");
    const struct ft_trace_expected *e = ft_trace_reader_expected(reader, &count);
    assert_true(count == 1 && e->pid == 5 && e->way == 2 && e->follow == 1 && e->since_ns == 99);
    assert_string_equal(e->path.data, "/bin/x");
    const struct ft_trace_taken_over *t = ft_trace_reader_taken_over(reader, &count);
    assert_true(count == 1 && t->part == 3 && t->bytes == 1234);
    ft_trace_reader_close(reader);
    free(made.data);
    ft_trace_writer_destroy(writer);
}

static void put_tags(struct ft_trace_writer *writer, uint32_t tag, bool with_block)
{
    const struct ft_trace_line_tags line = {.line = 2, .tid = 3, .ordinal = 4, .tags = &tag, .count = 1};
    const struct ft_trace_tagged tagged = {.process = 1, .all = &tag, .all_count = 1, .lines = &line, .line_count = 1};

    assert_int_equal(ft_trace_writer_put_tagged(writer, &tagged, with_block), 0);
}

static void add_row(struct ft_trace_writer *writer)
{
    const struct ft_event event = {.thread = 1, .call = 33, .fd = -1, .start_ns = 1000};

    assert_int_equal(ft_trace_writer_add(writer, &event), 0);
}

static void test_tags_are_in_the_file_if_and_only_if_the_rows_before_them_are(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    struct ft_trace_reader *reader;
    struct made made;
    size_t count;

    (void)state;
    put_tags(writer, 100, true); // no rows: a record like others
    add_row(writer);
    put_tags(writer, 101, true);
    ft_trace_writer_drop_rows(writer); // gone with its rows
    add_row(writer);
    put_tags(writer, 102, true);
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    add_row(writer);
    put_tags(writer, 103, false); // before the block
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    made = take(writer);
    reader = reopen(made);
    const struct ft_trace_tagged *tagged = ft_trace_reader_tagged(reader, &count);
    assert_int_equal(count, 3);
    assert_int_equal(tagged[0].all[0], 100);
    assert_int_equal(tagged[1].all[0], 102);
    assert_int_equal(tagged[2].lines[0].tags[0], 103);
    assert_true(tagged[2].lines[0].line == 2 && tagged[2].lines[0].tid == 3 && tagged[2].lines[0].ordinal == 4);
    ft_trace_reader_close(reader);
    free(made.data);
    ft_trace_writer_destroy(writer);
}

// A file of one event; torn, it ends inside of a second block.
static struct made make_part(uint32_t part, const struct ft_trace_taken_over *taken_over, bool is_torn, uint64_t *whole)
{
    struct ft_trace_header header = full_header();
    struct ft_trace_process process = full_process();
    struct ft_trace_thread thread = {.process = 1, .tid = 5};
    struct ft_trace_writer *writer;
    struct made made;

    header.part = part;
    process.segment = 99;
    assert_int_equal(ft_trace_writer_create(&header, NULL, &writer), 0);
    assert_int_equal(ft_trace_writer_new_process(writer, &process), 1);
    assert_int_equal(ft_trace_writer_new_thread(writer, &thread), 1);
    if (taken_over)
        assert_int_equal(ft_trace_writer_put_taken_over(writer, taken_over), 0);
    add_row(writer);
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    *whole = ft_trace_writer_bytes(writer);
    add_row(writer);
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    if (!is_torn)
        assert_int_equal(ft_trace_writer_finish(writer), 0);
    made = take(writer);
    made.len -= is_torn ? 3 : 0;
    ft_trace_writer_destroy(writer);
    return made;
}

static void write_part(const char *folder, const char *name, struct made made)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(made.data, 1, made.len, file), made.len);
    fclose(file);
    free(made.data);
}

static void remove_part(const char *folder, const char *name)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    unlink(path);
}

static void check_torn(uint64_t said, uint32_t said_part, bool is_partial)
{
    char folder[] = "/tmp/test_trace_resume.XXXXXX";
    const char *paths[] = {folder};
    struct ft_trace_set *set;
    uint64_t whole, ignored;
    struct made torn = make_part(0, NULL, true, &whole);
    const struct ft_trace_taken_over taken_over = {.part = said_part, .bytes = said ? said : whole};

    assert_non_null(mkdtemp(folder));
    write_part(folder, "0.flow", torn);
    write_part(folder, "1.flow", make_part(1, &taken_over, false, &ignored));
    assert_int_equal(ft_trace_set_open(paths, 1, NULL, &set, NULL), 0);
    assert_int_equal(ft_trace_set_is_partial(set), is_partial);
    assert_int_equal(ft_trace_set_is_ended(set, 0), said_part == 0);
    assert_true(ft_trace_set_is_ended(set, 1));
    assert_int_equal(ft_trace_set_process_count(set), 1);
    assert_int_equal(ft_trace_set_process(set, 0)->reader, 1);
    ft_trace_set_close(set);
    remove_part(folder, "0.flow");
    remove_part(folder, "1.flow");
    rmdir(folder);
}

static void test_a_torn_end_is_explained_by_the_file_that_goes_on_from_it(void **state)
{
    (void)state;
    check_torn(0, 0, false);
    check_torn(1, 0, false);
    check_torn(UINT64_MAX, 0, true); // of what is torn before that, nobody says that it is elsewhere
    check_torn(0, 7, true);          // another part
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_it_comes_back),
        cmocka_unit_test(test_tags_are_in_the_file_if_and_only_if_the_rows_before_them_are),
        cmocka_unit_test(test_a_torn_end_is_explained_by_the_file_that_goes_on_from_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
