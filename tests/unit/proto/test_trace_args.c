// SPDX-License-Identifier: MIT
// Arguments of application events: through a file and back.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/proto/cmocka_all.h"
#include "tests/unit/proto/trace_make.h"

enum { ROWS = 3000 };

static struct ft_event_arg any_arg(uint64_t *state)
{
    struct ft_event_arg arg = {.key = 1 + (uint32_t)(next_random(state) % 2),
                               .type = (uint8_t)(1 + next_random(state) % 3),
                               .value = any_number(state)};
    if (arg.type == FT_ARG_TEXT)
        arg.value = next_random(state) % 3;
    return arg;
}

static void add(struct ft_trace_writer *writer, uint64_t *state, struct ft_event_arg *args, size_t *total,
                struct ft_event *event)
{
    *event = any_event(state);
    event->start_ns = (int64_t)(*total) * 1000; // so that the rows of a thread stay in order
    event->dur_ns = 1;
    event->kind = FT_EVENT_SPAN;
    event->arg_count = (uint8_t)(next_random(state) % (next_random(state) % 4 ? 4 : FT_EVENT_ARGS_MAX + 1));
    for (size_t i = 0; i < event->arg_count; i++)
        args[*total + i] = any_arg(state);
    int64_t first = ft_trace_writer_args(writer, args + *total, event->arg_count);
    assert_int_equal(first, (int64_t)*total);
    event->first_arg = (uint32_t)first;
    *total += event->arg_count;
    assert_int_equal(ft_trace_writer_add(writer, event), 0);
}

static void test_arguments_come_back_with_their_rows(void **state)
{
    (void)state;
    static struct ft_event_arg args[ROWS * FT_EVENT_ARGS_MAX];
    static struct ft_event events[ROWS];
    struct ft_trace_writer *writer = ready_writer();
    uint64_t random = 77;
    size_t total = 0, seen = 0;
    for (size_t i = 0; i < ROWS; i++)
        add(writer, &random, args, &total, &events[i]);
    assert_int_equal(ft_trace_writer_args_left(writer), 65536 - total);
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    assert_int_equal(ft_trace_writer_args_left(writer), 65536);
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    struct made made = take(writer);
    struct ft_trace_reader *reader = open_made(made);
    struct ft_trace_decoder *decoder;
    struct ft_rows rows;
    assert_int_equal(ft_trace_decoder_create(&decoder), 0);
    assert_int_equal(ft_trace_decoder_rows(decoder, reader, 0, FT_COL_ALL, &rows), 0);
    assert_int_equal(rows.arg_total, total);
    for (size_t run = 0; run < rows.run_count; run++) {
        size_t at = 0;
        for (uint32_t i = 0; i < rows.runs[run].count; i++, at++) {
            struct ft_event got;
            while (events[at].thread != rows.runs[run].thread)
                at++;
            ft_rows_event(&rows, rows.runs[run].first + i, rows.runs[run].thread, &got);
            assert_event_equal(&got, &events[at]);
            assert_int_equal(got.arg_count, events[at].arg_count);
            for (size_t a = 0; a < got.arg_count; a++, seen++) {
                const struct ft_event_arg *have = &rows.args[got.first_arg + a],
                                          *want = &args[events[at].first_arg + a];
                assert_true(have->key == want->key && have->type == want->type && have->value == want->value);
            }
        }
    }
    assert_int_equal(seen, total);
    ft_trace_decoder_destroy(decoder);
    ft_trace_reader_close(reader);
    ft_trace_writer_destroy(writer);
    free(made.data);
}

static void test_bad_arguments_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct ft_event_arg arg;
        const char *why;
    } cases[] = {
        {{.key = 1, .type = 0}, "no type"},
        {{.key = 1, .type = FT_ARG_TYPE_END}, "a type that is none"},
        {{.key = 9999, .type = FT_ARG_INTEGER}, "a key that was never given"},
        {{.key = 1, .type = FT_ARG_TEXT, .value = 9999}, "a text that was never given"},
    };
    struct ft_trace_writer *writer = ready_writer();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (ft_trace_writer_args(writer, &cases[i].arg, 1) != -EINVAL)
            fail_msg("%s", cases[i].why);
    struct ft_event event = {.thread = 1, .fd = -1, .kind = FT_EVENT_SPAN, .arg_count = 1};
    assert_int_equal(ft_trace_writer_add(writer, &event), -EINVAL); // of arguments that are not there
    ft_trace_writer_destroy(writer);
}

static void test_a_block_has_room_for_so_many(void **state)
{
    (void)state;
    struct ft_event_arg args[FT_EVENT_ARGS_MAX];
    struct ft_trace_writer *writer = ready_writer();
    for (size_t i = 0; i < FT_EVENT_ARGS_MAX; i++)
        args[i] = (struct ft_event_arg){.key = 1, .type = FT_ARG_INTEGER, .value = i};
    for (size_t i = 0; i < 65536 / FT_EVENT_ARGS_MAX; i++)
        assert_int_equal(ft_trace_writer_args(writer, args, FT_EVENT_ARGS_MAX), (int64_t)(i * FT_EVENT_ARGS_MAX));
    assert_int_equal(ft_trace_writer_args(writer, args, 1), -EOVERFLOW);
    assert_int_equal(ft_trace_writer_args_left(writer), 0);
    ft_trace_writer_drop_rows(writer);
    assert_int_equal(ft_trace_writer_args(writer, args, 1), 0);
    ft_trace_writer_destroy(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments_come_back_with_their_rows),
        cmocka_unit_test(test_bad_arguments_are_refused),
        cmocka_unit_test(test_a_block_has_room_for_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
