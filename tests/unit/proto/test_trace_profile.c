// SPDX-License-Identifier: MIT
#include "cmocka_all.h"
#include "proto/calls.h"
#include "trace_make.h"

#include <errno.h>
#include <stdlib.h>

static struct ft_event event_on(uint32_t file, int64_t start_ns, int64_t dur_ns, uint64_t bytes, int32_t err)
{
    return (struct ft_event){
        .thread = 1,
        .file = file,
        .call = 4,
        .fd = 3,
        .start_ns = start_ns,
        .dur_ns = dur_ns,
        .bytes = bytes,
        .err = err,
        .has = FT_HAS_BYTES | FT_HAS_ERR,
    };
}

static struct made finished(struct ft_trace_writer *writer)
{
    struct made made;

    assert_int_equal(ft_trace_writer_finish(writer), 0);
    made = take(writer);
    ft_trace_writer_destroy(writer);
    return made;
}

static void add(struct ft_trace_writer *writer, struct ft_event event)
{
    assert_int_equal(ft_trace_writer_add_profiled(writer, &event), 0);
}

static void sums_come_back_as_one_row_for_each_file(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    const struct ft_trace_range range = {7, 1, 0, 0, 126};
    struct ft_trace_decoder *decoder;
    struct ft_trace_reader *reader;
    struct made made;
    struct ft_rows rows;
    const struct ft_trace_aggregate *totals;
    const struct ft_trace_range *ranges;
    const struct ft_trace_problem *problems;
    size_t count;

    (void)state;
    add(writer, event_on(1, 1000, 10, 5, 0));
    add(writer, event_on(2, 1100, 10, 7, 0));
    add(writer, event_on(1, 1200, 30, 0, 9));
    add(writer, event_on(1, 1250, 1, 100, 0));
    assert_int_equal(ft_trace_writer_profiled(writer), 4);
    assert_int_equal(ft_trace_writer_rows(writer), 0);
    assert_int_equal(ft_trace_writer_finish(writer), -EINVAL);
    assert_int_equal(ft_trace_writer_end_profile(writer, &range, 1), 0);
    assert_int_equal(ft_trace_writer_profiled(writer), 0);
    assert_int_equal(ft_trace_writer_end_profile(writer, NULL, 0), 0);
    made = finished(writer);
    reader = open_made(made);
    assert_int_equal(ft_trace_reader_events(reader), 0);
    assert_int_equal(ft_trace_reader_profiled(reader), 4);
    assert_int_equal(ft_trace_reader_profiles(reader, &count)->events, 4);
    assert_int_equal(count, 1);
    assert_int_equal(ft_trace_decoder_create(&decoder), 0);
    assert_int_equal(ft_trace_decoder_rows(decoder, reader, FT_TRACE_PROFILE, FT_COL_ALL, &rows), 0);
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.file[0], 1);
    assert_int_equal(rows.arg[0], 3);
    assert_int_equal(rows.start_ns[0], 1000);
    assert_int_equal(rows.size[0], 251);
    assert_int_equal(rows.dur_ns[0], 41);
    assert_int_equal(rows.bytes[0], 105);
    assert_int_equal(rows.result[0], 1);
    assert_int_equal(rows.arg[1], 1);
    assert_int_equal(rows.bytes[1], 7);
    assert_int_equal(ft_trace_decoder_aggregates(decoder, reader, FT_TRACE_PROFILE, &totals, &count), 0);
    assert_int_equal(count, 2); // a regular file and a pipe
    assert_int_equal(totals[0].count, 3);
    assert_int_equal(totals[0].max_ns, 30);
    assert_int_equal(totals[0].sizes[ft_log2_bucket(100)], 1);
    assert_int_equal(ft_trace_decoder_ranges(decoder, reader, FT_TRACE_PROFILE, &ranges, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(ranges[0].to, 126);
    assert_int_equal(ft_trace_decoder_verify(decoder, reader, FT_TRACE_PROFILE, &problems, &count), 0);
    assert_int_equal(count, 0);
    assert_int_equal(ft_trace_decoder_rows(decoder, reader, FT_TRACE_PROFILE | 1, FT_COL_ALL, &rows), -EINVAL);
    ft_trace_decoder_destroy(decoder);
    ft_trace_reader_close(reader);
    free(made.data);
}

static void many_keys_are_found_again(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    struct ft_trace_decoder *decoder;
    struct ft_trace_reader *reader;
    struct made made;
    struct ft_rows rows;
    uint64_t events = 0;

    (void)state;
    for (int round = 0; round < 3; round++)
        for (uint16_t call = 1; call < 1000; call++)
            for (uint32_t file = 1; file <= 2; file++) {
                struct ft_event event = event_on(file, round * 10000 + call, 1, 1, 0);

                event.call = call;
                add(writer, event);
            }
    assert_int_equal(ft_trace_writer_end_profile(writer, NULL, 0), 0);
    made = finished(writer);
    reader = open_made(made);
    assert_int_equal(ft_trace_decoder_create(&decoder), 0);
    assert_int_equal(ft_trace_decoder_rows(decoder, reader, FT_TRACE_PROFILE, FT_COL_ARG, &rows), 0);
    assert_int_equal(rows.count, 999 * 2);
    for (size_t i = 0; i < rows.count; i++)
        events += rows.arg[i];
    assert_int_equal(events, 3 * 999 * 2);
    ft_trace_decoder_destroy(decoder);
    ft_trace_reader_close(reader);
    free(made.data);
}

static void rows_and_sums_stand_in_frames_of_their_own(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    struct ft_event event = event_on(1, 5, 1, 1, 0);
    struct ft_trace_reader *reader;
    struct made made;
    size_t count;

    (void)state;
    assert_int_equal(ft_trace_writer_add(writer, &event), 0);
    add(writer, event);
    assert_int_equal(ft_trace_writer_end_profile(writer, NULL, 0), -EINVAL); // the rows come first
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    assert_int_equal(ft_trace_writer_end_profile(writer, NULL, 0), 0);
    made = finished(writer);
    reader = open_made(made);
    assert_int_equal(ft_trace_reader_events(reader), 1);
    assert_int_equal(ft_trace_reader_profiled(reader), 1);
    ft_trace_reader_problems(reader, &count);
    assert_int_equal(count, 0);
    ft_trace_reader_close(reader);
    free(made.data);
}

static void sums_are_thrown_away_with_the_rows_of_a_full_disk(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    size_t before, after;

    (void)state;
    assert_int_equal(ft_trace_writer_flush(writer), 0);
    ft_trace_writer_data(writer, &before);
    add(writer, event_on(1, 5, 1, 1, 0));
    assert_int_equal(ft_trace_writer_end_profile(writer, NULL, 0), 0);
    ft_trace_writer_drop_blocks(writer);
    ft_trace_writer_data(writer, &after);
    assert_true(after > before); // the call's record stays
    add(writer, event_on(1, 5, 1, 1, 0));
    ft_trace_writer_drop_rows(writer);
    assert_int_equal(ft_trace_writer_profiled(writer), 0);
    ft_trace_writer_destroy(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_come_back_as_one_row_for_each_file),
        cmocka_unit_test(many_keys_are_found_again),
        cmocka_unit_test(rows_and_sums_stand_in_frames_of_their_own),
        cmocka_unit_test(sums_are_thrown_away_with_the_rows_of_a_full_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
