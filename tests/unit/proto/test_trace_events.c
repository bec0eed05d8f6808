// SPDX-License-Identifier: MIT
#include "cmocka_all.h"
#include "trace_make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void assert_verified(const struct ft_trace_reader *reader)
{
    struct ft_trace_decoder *decoder;
    size_t blocks;

    assert_int_equal(ft_trace_decoder_create(&decoder), 0);
    ft_trace_reader_blocks(reader, &blocks);
    for (size_t i = 0; i < blocks; i++) {
        const struct ft_trace_problem *problems;
        size_t count;

        assert_int_equal(ft_trace_decoder_verify(decoder, reader, i, &problems, &count), 0);
        assert_int_equal(count, 0);
    }
    ft_trace_decoder_destroy(decoder);
}

static int by_thread_and_start(const void *a, const void *b)
{
    const struct ft_event *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    // `arg` numbers them, to make the sort stable.
    return x->arg < y->arg ? -1 : 1;
}

// Any events, in blocks of these sizes; each block must give its rows back, by
// thread and start.
static void any_events_come_back(void **state)
{
    static const size_t sizes[] = {1, 2, 63, 64, 65, 1000, FT_TRACE_BLOCK_ROWS_MAX};
    static struct ft_event events[FT_TRACE_BLOCK_ROWS_MAX];
    struct ft_trace_decoder *decoder;
    uint64_t random = 99;

    (void)state;
    assert_int_equal(ft_trace_decoder_create(&decoder), 0);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        struct ft_trace_writer *writer = ready_writer();
        struct ft_trace_reader *reader;
        struct ft_rows rows;
        struct made made;

        for (size_t i = 0; i < sizes[s]; i++) {
            events[i] = any_event(&random);
            events[i].has |= FT_HAS_ARG;
            events[i].arg = i;
            if (i > 0 && i < 100)
                events[i].start_ns = events[0].start_ns;
            assert_int_equal(ft_trace_writer_add(writer, &events[i]), 0);
        }
        if (sizes[s] == FT_TRACE_BLOCK_ROWS_MAX)
            assert_int_equal(ft_trace_writer_add(writer, &events[0]), -EOVERFLOW);
        assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
        assert_int_equal(ft_trace_writer_finish(writer), 0);
        made = take(writer);
        ft_trace_writer_destroy(writer);
        reader = open_made(made);
        assert_int_equal(ft_trace_reader_events(reader), sizes[s]);
        assert_int_equal(ft_trace_decoder_rows(decoder, reader, 0, FT_COL_ALL, &rows), 0);
        qsort(events, sizes[s], sizeof(events[0]), by_thread_and_start);
        assert_int_equal(rows.count, sizes[s]);
        for (size_t run = 0; run < rows.run_count; run++) {
            // Runs stand in order of first appearance: find the thread's rows.
            size_t first = rows.runs[run].thread == 1 ? 0 : sizes[s] - rows.runs[run].count;

            for (size_t i = 0; i < rows.runs[run].count; i++) {
                struct ft_event got;

                ft_rows_event(&rows, rows.runs[run].first + i, rows.runs[run].thread, &got);
                assert_event_equal(&got, &events[first + i]);
            }
        }
        assert_verified(reader);
        ft_trace_reader_close(reader);
        free(made.data);
    }
    ft_trace_decoder_destroy(decoder);
}

static void a_column_comes_back_alone_as_with_all(void **state)
{
    struct made made = small_trace(NULL, NULL);
    struct ft_trace_reader *reader = open_made(made);
    struct ft_trace_decoder *one, *all;

    (void)state;
    assert_int_equal(ft_trace_decoder_create(&one), 0);
    assert_int_equal(ft_trace_decoder_create(&all), 0);
    for (uint32_t column = 1; column < FT_COL_ALL; column <<= 1) {
        struct ft_rows some, full;

        assert_int_equal(ft_trace_decoder_rows(one, reader, 1, column, &some), 0);
        assert_int_equal(ft_trace_decoder_rows(all, reader, 1, FT_COL_ALL, &full), 0);
        assert_int_equal(some.count, full.count);
#define SAME(field) \
    if (some.field) \
        assert_memory_equal(some.field, full.field, some.count * sizeof(*some.field));
        SAME(start_ns)
        SAME(dur_ns)
        SAME(call)
        SAME(kind)
        SAME(file)
        SAME(file2)
        SAME(fd)
        SAME(size)
        SAME(offset)
        SAME(result)
        SAME(bytes)
        SAME(arg)
        SAME(err)
        SAME(context)
        SAME(name)
        SAME(category)
        SAME(flags)
        SAME(has)
#undef SAME
        assert_true((column & FT_COL_START) == 0 || some.start_ns);
        assert_true((column & FT_COL_BYTES) == 0 || some.bytes);
    }
    ft_trace_decoder_destroy(one);
    ft_trace_decoder_destroy(all);
    ft_trace_reader_close(reader);
    free(made.data);
}

static void aggregates_are_those_of_the_rows(void **state)
{
    struct ft_event events[SMALL_TRACE_EVENTS];
    struct made made = small_trace(events, NULL);
    struct ft_trace_reader *reader = open_made(made);
    const struct ft_trace_aggregate *aggregates;
    struct ft_trace_decoder *decoder;
    uint64_t count = 0, bytes = 0, time = 0, errors = 0, wanted_bytes = 0, wanted_time = 0, wanted_errors = 0;
    size_t n;

    (void)state;
    assert_int_equal(ft_trace_decoder_create(&decoder), 0);
    for (size_t block = 0; block < 3; block++) {
        assert_int_equal(ft_trace_decoder_aggregates(decoder, reader, block, &aggregates, &n), 0);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(aggregates[i].call, 4);
            count += aggregates[i].count;
            bytes += aggregates[i].bytes;
            time += aggregates[i].time_ns;
            errors += aggregates[i].errors;
        }
    }
    for (size_t i = 0; i < SMALL_TRACE_EVENTS; i++) {
        wanted_bytes += events[i].bytes;
        wanted_time += (uint64_t)events[i].dur_ns;
        wanted_errors += events[i].err != 0;
    }
    assert_int_equal(count, SMALL_TRACE_EVENTS);
    assert_int_equal(bytes, wanted_bytes);
    assert_int_equal(time, wanted_time);
    assert_int_equal(errors, wanted_errors);
    ft_trace_decoder_destroy(decoder);
    ft_trace_reader_close(reader);
    free(made.data);
}

#define REPEATED_ROWS 2000

// Rows that repeat, with results that follow from sizes alone, or from descriptors and offsets, too.
static struct ft_event repeated_row(uint64_t *random, size_t i, bool has_other_results, bool are_moved)
{
    static const int64_t sizes[] = {4096, 4096, 4096, 0, 100};
    uint64_t choice = next_random(random) % 40;
    struct ft_event event = {.thread = 1,
                             .start_ns = (int64_t)i,
                             .fd = 1000 + (int32_t)(i / 50),
                             .file = 1 + i / 600 % 2,
                             .call = (uint16_t)(i / 100 % 3),
                             .has = FT_HAS_SIZE | FT_HAS_RESULT | FT_HAS_ERR};

    event.size = sizes[i / 30 % 5];
    event.result = choice == 0 ? -1 : choice == 1 ? 50 : event.size;
    event.err = choice == 0 ? 5 : 0;
    event.has |= choice == 2 ? FT_HAS_ARG : FT_HAS_BYTES | FT_HAS_OFFSET;
    event.bytes = choice == 2 ? 0 : choice == 3 ? 77 : event.result > 0 ? (uint64_t)event.result : 0;
    event.offset = choice == 2 ? 0 : (int64_t)i << 20;
    event.file2 = choice == 4 ? 2 : 0;
    if (has_other_results && event.call == 2 && choice > 20) {
        event.result = choice > 30 ? event.fd : event.offset;
        event.bytes = (uint64_t)event.result;
    }
    if (has_other_results && event.call == 2 && !are_moved) {
        event.bytes = 0;
        event.has &= (uint8_t)~FT_HAS_BYTES;
    }
    return event;
}

// In stretches, offsets go on in their file, stay, are none, or are what they were.
static void place_row(struct ft_event *event, size_t i, int64_t places[2], int64_t ends[2])
{
    bool is_odd = event->file % 2;

    if (event->call != 2 && event->has & FT_HAS_OFFSET) {
        switch (i / 45 % 4) {
        case 1:
            event->offset = ends[is_odd];
            break;
        case 2:
            event->offset = places[is_odd];
            break;
        case 3:
            event->offset = 0;
            event->has &= (uint8_t)~FT_HAS_OFFSET;
            break;
        default:
            break;
        }
    }
    if (!(event->has & FT_HAS_OFFSET))
        return;
    places[is_odd] = event->offset;
    ends[is_odd] = event->offset + (event->has & FT_HAS_BYTES ? (int64_t)event->bytes : event->size);
}

static struct made repeated_rows(struct ft_event *events, bool has_other_results, bool are_moved)
{
    struct ft_trace_writer *writer = ready_writer();
    uint64_t random = 17;
    int64_t places[2] = {0}, ends[2] = {0};

    for (size_t i = 0; i < REPEATED_ROWS; i++) {
        events[i] = repeated_row(&random, i, has_other_results, are_moved);
        place_row(&events[i], i, places, ends);
        assert_int_equal(ft_trace_writer_add(writer, &events[i]), 0);
    }
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    struct made made = take(writer);
    ft_trace_writer_destroy(writer);
    return made;
}

// Bytes, errors and offsets are decoded without the rest where bytes do not follow from it.
static void check_without_the_rest(bool has_other_results, bool are_moved)
{
    static struct ft_event events[REPEATED_ROWS];
    struct ft_trace_decoder *decoder;
    struct ft_rows rows;
    struct made made = repeated_rows(events, has_other_results, are_moved);
    struct ft_trace_reader *reader = open_made(made);

    assert_int_equal(ft_trace_decoder_create(&decoder), 0);
    for (int has_offset = 0; has_offset < 2; has_offset++) {
        uint32_t mask = FT_COL_BYTES | FT_COL_ERR | FT_COL_FILE2 | (has_offset ? FT_COL_OFFSET : 0);

        assert_int_equal(ft_trace_decoder_rows(decoder, reader, 0, mask, &rows), 0);
        if (!has_other_results || !are_moved)
            assert_null(rows.fd);
        if (!has_offset && !has_other_results)
            assert_null(rows.offset);
        for (size_t i = 0; i < REPEATED_ROWS; i++) {
            assert_int_equal(rows.bytes[i], events[i].bytes);
            assert_int_equal(rows.err[i], events[i].err);
            assert_int_equal(rows.has[i], events[i].has);
            assert_int_equal(rows.file2[i], events[i].file2);
            if (has_offset)
                assert_int_equal(rows.offset[i], events[i].offset);
        }
    }
    assert_int_equal(ft_trace_decoder_rows(decoder, reader, 0, FT_COL_FILE2, &rows), 0);
    for (size_t i = 0; i < REPEATED_ROWS; i++)
        assert_int_equal(rows.file2[i], events[i].file2);
    ft_trace_decoder_destroy(decoder);
    ft_trace_reader_close(reader);
    free(made.data);
}

static void bytes_and_errors_come_back_without_the_rest(void **state)
{
    (void)state;
    check_without_the_rest(false, false);
    check_without_the_rest(true, false);
    check_without_the_rest(true, true);
}

static int by_place(const void *a, const void *b)
{
    const struct ft_trace_range *x = a, *y = b;

#define COMPARE(field)        \
    if (x->field != y->field) \
        return x->field < y->field ? -1 : 1;
    COMPARE(segment)
    COMPARE(chunk)
    COMPARE(fill)
    COMPARE(from)
#undef COMPARE
    return 0;
}

static void ranges_are_joined_and_come_back(void **state)
{
    enum { COUNT = 1000 };
    struct ft_trace_writer *writer = ready_writer();
    struct ft_event event = {.thread = 1, .fd = -1};
    struct ft_trace_range ranges[COUNT + 1], sorted[COUNT + 1];
    const struct ft_trace_range *got;
    struct ft_trace_decoder *decoder;
    struct ft_trace_reader *reader;
    struct made made;
    size_t count;

    (void)state;
    // One segment that goes through its chunks once, one that uses eight of them
    // again and again; a few that fit nothing, and a filling in two pieces.
    for (uint32_t i = 0; i < COUNT; i++) {
        ranges[i] = (struct ft_trace_range){.segment = UINT64_MAX, .fill = 1, .chunk = COUNT - i / 2, .to = 126};
        if (i % 2)
            ranges[i] = (struct ft_trace_range){.segment = 9, .fill = 100 + i / 16, .chunk = i / 2 % 8, .to = 126};
        if (i % 100 == 0)
            ranges[i] =
                (struct ft_trace_range){.segment = i, .fill = UINT64_MAX, .chunk = UINT32_MAX, .from = 5, .to = 7};
    }
    ranges[COUNT - 1].to = 60;
    ranges[COUNT] = ranges[COUNT - 1];
    ranges[COUNT].from = 60;
    ranges[COUNT].to = 126;
    assert_int_equal(ft_trace_writer_add(writer, &event), 0);
    assert_int_equal(ft_trace_writer_end_block(writer, (struct ft_trace_range[]){{.from = 5, .to = 5}}, 1), -EINVAL);
    assert_int_equal(ft_trace_writer_rows(writer), 1);
    assert_int_equal(ft_trace_writer_end_block(writer, ranges, COUNT + 1), 0);
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    assert_true(ft_trace_writer_bytes(writer) < 3000);
    made = take(writer);
    ft_trace_writer_destroy(writer);
    reader = open_made(made);
    assert_int_equal(ft_trace_decoder_create(&decoder), 0);
    assert_int_equal(ft_trace_decoder_ranges(decoder, reader, 0, &got, &count), 0);
    assert_int_equal(count, COUNT);
    memcpy(sorted, got, COUNT * sizeof(*got));
    ranges[COUNT - 1].to = 126;
    qsort(ranges, COUNT, sizeof(ranges[0]), by_place);
    qsort(sorted, COUNT, sizeof(sorted[0]), by_place);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(sorted[i].segment, ranges[i].segment);
        assert_int_equal(sorted[i].fill, ranges[i].fill);
        assert_int_equal(sorted[i].chunk, ranges[i].chunk);
        assert_int_equal(sorted[i].from, ranges[i].from);
        assert_int_equal(sorted[i].to, ranges[i].to);
    }
    ft_trace_decoder_destroy(decoder);
    ft_trace_reader_close(reader);
    free(made.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_events_come_back),
        cmocka_unit_test(a_column_comes_back_alone_as_with_all),
        cmocka_unit_test(bytes_and_errors_come_back_without_the_rest),
        cmocka_unit_test(aggregates_are_those_of_the_rows),
        cmocka_unit_test(ranges_are_joined_and_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
