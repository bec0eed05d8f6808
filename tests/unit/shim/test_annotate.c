// SPDX-License-Identifier: MIT
/* What spans and tags of the application are in the ring, and which names are defined for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/shim/annotate.h"
#include "client/shim/intern.h"
#include "client/shim/tags.h"
#include "proto/annotate.h"
#include "tests/unit/shim/segment_fixture.h"

extern const struct ft_annotate_table flowtap_annotate_1;

static const uint64_t *records[20000];

static int setup(void **state)
{
    (void)state;
    ft_fixture_make(256);
    assert_int_equal(ft_thread_start(), 0);
    ft_thread.mode = FT_MODE_ON;
    return 0;
}

static void test_a_text_is_defined_once(void **state)
{
    (void)state;
    char copy[] = "load", other[] = "loads";
    uint32_t id = ft_intern_text("load");
    assert_int_not_equal(id, 0);
    assert_int_equal(ft_intern_text(copy), id);
    other[4] = 0; /* the same place says something else now */
    assert_int_equal(ft_intern_text(other), id);
    other[0] = 'r';
    assert_int_not_equal(ft_intern_text(other), id);
    assert_int_equal(ft_intern_text(""), 0);
    assert_int_equal(ft_intern_text(NULL), 0);
    assert_int_equal(ft_fixture_records(FT_RECORD_DEFINE, records, 100), 2);
}

static void test_a_child_defines_it_anew(void **state)
{
    (void)state;
    uint32_t before = ft_intern_text("anew");
    ft_process.first_id = ft_process.next_id;
    uint32_t after = ft_intern_text("anew");
    assert_true(after >= ft_process.first_id && before < ft_process.first_id);
    assert_int_equal(ft_intern_text("anew"), after);
}

static void test_more_texts_than_fit_are_defined_for_one_use(void **state)
{
    (void)state;
    char text[40];
    size_t once = 0;
    for (int i = 0; i < 2 * FT_INTERN_MAX; i++) {
        snprintf(text, sizeof(text), "text %d", i);
        assert_int_not_equal(ft_intern_text(text), 0);
    }
    size_t count = ft_fixture_records(FT_RECORD_DEFINE, records, 20000);
    assert_int_equal(count, 2 * FT_INTERN_MAX);
    for (size_t i = 0; i < count; i++)
        once += (records[i][2] >> 56 & FT_DEFINE_ONCE) != 0;
    assert_true(once >= FT_INTERN_MAX && once < 2 * FT_INTERN_MAX);
}

static void write_span(const struct ft_annotate_arg *args, uint32_t count)
{
    struct ft_annotate_event event = {
        .kind = FT_ANNOTATE_SPAN, .category = "c", .name = "n", .args = args, .arg_count = count};
    flowtap_annotate_1.mark(&event.mark);
    assert_int_not_equal(event.mark.ticks, 0);
    flowtap_annotate_1.event(&event);
}

static void test_without_memory_it_is_defined_each_time(void **state)
{
    (void)state;
    write_span(NULL, 0); /* a chunk is there */
    ft_process.sandboxed = 1;
    uint32_t first = ft_intern_text("never seen before"), second = ft_intern_text("never seen before");
    assert_true(first != 0 && second != 0);
}

static void test_a_short_span_takes_one_slot(void **state)
{
    (void)state;
    write_span(NULL, 0);
    assert_int_equal(ft_fixture_records(FT_RECORD_SPAN, records, 1), 1);
    assert_int_equal(FT_W0_SLOTS(records[0][0]), 1);
    assert_int_equal(FT_W0_CALL(records[0][0]), 0);
    assert_int_equal((uint32_t)records[0][2], ft_intern_text("n"));
    assert_int_equal(records[0][2] >> 32, ft_intern_text("c"));
    assert_int_equal(ft_thread.line->emitted, 1);
}

/* The longest record there is: what does not fit is cut, never written past its slots. */
static void test_arguments_fit_the_longest_record(void **state)
{
    (void)state;
    static char text[2000];
    struct ft_annotate_arg args[FT_EVENT_ARGS_MAX + 1];
    memset(text, 't', sizeof(text) - 1);
    for (int shift = 0; shift <= FT_EVENT_ARGS_MAX; shift++) {
        setup(NULL);
        for (int i = 0; i <= FT_EVENT_ARGS_MAX; i++)
            args[i] = i >= shift ? (struct ft_annotate_arg){.key = "k", .type = FT_ARG_TEXT, .value.text = text}
                                 : (struct ft_annotate_arg){.key = "k", .type = FT_ARG_INTEGER, .value.integer = i};
        write_span(args, FT_EVENT_ARGS_MAX + 1);
        assert_int_equal(ft_fixture_records(FT_RECORD_SPAN, records, 1), 1);
        const uint64_t *word = records[0];
        unsigned words = FT_W0_SLOTS(word[0]) * FT_SLOT_WORDS, at = FT_SLOT_WORDS + 1;
        assert_true(FT_W0_FLAGS(word[0]) & FT_SPAN_CUT);
        assert_int_equal(FT_W0_CALL(word[0]), FT_EVENT_ARGS_MAX);
        for (unsigned i = 0; i < FT_EVENT_ARGS_MAX; i++) {
            assert_int_equal((uint32_t)word[at], ft_intern_text("k"));
            unsigned takes = (uint8_t)(word[at] >> 32) == FT_ARG_TEXT ? ((unsigned)(word[at] >> 48) + 7) / 8 : 1;
            assert_true(takes > 0);
            at += 1 + takes;
        }
        assert_true(at <= words);
        ft_fixture_teardown(NULL);
    }
    setup(NULL);
}

static void test_a_span_of_the_parent_is_not_ended_here(void **state)
{
    (void)state;
    struct ft_annotate_event event = {.kind = FT_ANNOTATE_SPAN, .category = "c", .name = "n"};
    flowtap_annotate_1.mark(&event.mark);
    ft_process.pid++;
    flowtap_annotate_1.event(&event);
    assert_int_equal(ft_fixture_records(FT_RECORD_SPAN, records, 1), 0);
    assert_int_equal(ft_thread.line->emitted, 0);
}

static void test_what_finds_no_slot_is_counted_under_no_call(void **state)
{
    (void)state;
    write_span(NULL, 0);
    ft_intern_text("c");
    memset(ft_head()->chunk_state, FT_CHUNK_FULL, ft_process.chunks_max);
    ft_process.chunks_by_shim = 0;
    ft_process.totals_ready = 1; /* its copy is the first */
    ft_thread.writer->cursor = FT_CURSOR_NONE;
    write_span(NULL, 0);
    const struct ft_total *rows = ft_page(ft_process.totals_page);
    assert_int_equal(ft_thread.line->emitted, 2);
    assert_int_equal(ft_thread.line->dropped, 1);
    assert_int_equal(rows[0].count, 1);
    for (int i = 1; i < FT_TOTALS_ROWS; i++)
        assert_int_equal(rows[i].count, 0);
}

static void test_tags_that_found_no_slot_are_told_later(void **state)
{
    (void)state;
    char value[20];
    uint64_t cursor = ft_thread.writer->cursor;
    uint32_t chunks = ft_process.chunks_by_shim;
    ft_process.chunks_by_shim = 0;
    ft_tags_set(0, "epoch", "1");
    assert_int_equal(ft_thread.tags_untold, 1);
    assert_int_equal(ft_tags_get(0, "epoch", value, sizeof(value)), 1);
    assert_int_equal(ft_fixture_records(FT_RECORD_TAGS, records, 1), 0);
    ft_process.chunks_by_shim = chunks;
    ft_thread.writer->cursor = cursor;
    ft_thread.writer->retry_ticks = ft_process.growth_retry_ticks = 0;
    write_span(NULL, 0);
    assert_int_equal(ft_thread.tags_untold, 0);
    assert_int_equal(ft_fixture_records(FT_RECORD_TAGS, records, 1), 1);
}

static void test_tags_are_got_as_they_were_set(void **state)
{
    (void)state;
    char value[300], longest[300];
    memset(longest, 'v', sizeof(longest));
    longest[249] = 0;
    ft_tags_set(0, "a", "1");
    ft_tags_set(1, "a", "2");
    ft_tags_set(0, "b", "3");
    ft_tags_set(0, "a", "4");
    ft_tags_set(0, "ab", longest);
    assert_true(ft_tags_get(0, "a", value, sizeof(value)) == 1 && strcmp(value, "4") == 0);
    assert_true(ft_tags_get(1, "a", value, sizeof(value)) == 1 && strcmp(value, "2") == 0);
    assert_int_equal(ft_tags_get(0, "ab", value, sizeof(value)), 249);
    assert_int_equal(ft_tags_get(0, "ab", value, 249), -1); /* no room */
    ft_tags_set(0, "a", "");
    assert_int_equal(ft_tags_get(0, "a", value, sizeof(value)), -1);
    assert_int_equal(ft_tags_get(0, "c", value, sizeof(value)), -1);
    assert_int_equal(ft_tags_get(0, NULL, value, sizeof(value)), -1);
    assert_int_equal(ft_fixture_records(FT_RECORD_TAGS, records, 1), 6);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, ft_fixture_teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_a_text_is_defined_once),
        CASE(test_a_child_defines_it_anew),
        CASE(test_a_short_span_takes_one_slot),
        CASE(test_arguments_fit_the_longest_record),
        CASE(test_a_span_of_the_parent_is_not_ended_here),
        CASE(test_what_finds_no_slot_is_counted_under_no_call),
        CASE(test_tags_are_got_as_they_were_set),
        CASE(test_tags_that_found_no_slot_are_told_later),
        CASE(test_more_texts_than_fit_are_defined_for_one_use),
        CASE(test_without_memory_it_is_defined_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
