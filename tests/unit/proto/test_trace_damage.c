// SPDX-License-Identifier: MIT
//
// Whatever happens to the bytes of a file: no crash, every whole block is given
// back as it was, and what is missing is said.
#include "cmocka_all.h"
#include "proto/frame.h"
#include "trace_make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct ft_event wanted[SMALL_TRACE_EVENTS];
static struct made whole;
static struct ft_trace_decoder *decoder;

// Frames of the whole file.
static struct {
    size_t offset, end;
    unsigned kind;
} frames[64];
static size_t frame_count;

static int make_file(void **state)
{
    (void)state;
    whole = small_trace(wanted, NULL);
    for (size_t at = 0; at < whole.len; frame_count++) {
        struct ft_frame frame;

        assert_int_equal(ft_frame_decode(whole.data + at, &frame), 0);
        frames[frame_count].offset = at;
        frames[frame_count].kind = frame.kind;
        at += FT_FRAME_HEADER_BYTES + (size_t)frame.head_len + frame.data_len;
        frames[frame_count].end = at;
    }
    return ft_trace_decoder_create(&decoder);
}

static int free_file(void **state)
{
    (void)state;
    free(whole.data);
    ft_trace_decoder_destroy(decoder);
    return 0;
}

// Every block that the reader gives must be one of the whole file's, unchanged.
// Returns how many it gives.
static size_t check_blocks(const struct ft_trace_reader *reader, size_t *damaged)
{
    size_t count, whole_blocks = 0;
    const struct ft_trace_block *blocks = ft_trace_reader_blocks(reader, &count);

    *damaged = 0;
    for (size_t b = 0; b < count; b++) {
        const struct ft_trace_problem *problems;
        size_t problem_count;
        struct ft_rows rows;
        int rc = ft_trace_decoder_rows(decoder, reader, b, FT_COL_ALL, &rows);

        if (rc == -EBADMSG) {
            (*damaged)++;
            assert_int_equal(ft_trace_decoder_verify(decoder, reader, b, &problems, &problem_count), 0);
            assert_true(problem_count > 0);
            continue;
        }
        assert_int_equal(rc, 0);
        whole_blocks++;
        for (size_t run = 0; run < rows.run_count; run++) {
            for (size_t i = 0; i < rows.runs[run].count; i++) {
                size_t row = rows.runs[run].first + i;
                struct ft_event got;

                ft_rows_event(&rows, row, rows.runs[run].thread, &got);
                assert_event_equal(&got, &wanted[(size_t)blocks[b].start_ns / 1000 * 100 + row]);
            }
        }
    }
    return whole_blocks;
}

static void a_file_cut_at_any_byte_gives_its_whole_blocks(void **state)
{
    (void)state;
    for (size_t len = 0; len <= whole.len; len++) {
        // In memory of just that size, so that a sanitizer sees reads behind it.
        uint8_t *bytes = malloc(len ? len : 1);
        struct ft_trace_reader *reader;
        size_t blocks = 0, damaged;
        bool is_boundary = len == 0;

        memcpy(bytes, whole.data, len);
        for (size_t i = 0; i < frame_count; i++) {
            blocks += frames[i].kind == FT_FRAME_BLOCK && frames[i].end <= len;
            is_boundary |= frames[i].end == len;
        }
        assert_int_equal(ft_trace_reader_open_memory(bytes, len, NULL, &reader), 0);
        assert_int_equal(check_blocks(reader, &damaged), blocks);
        assert_int_equal(damaged, 0);
        assert_int_equal(ft_trace_reader_is_closed(reader), len == whole.len);
        // Inside a frame something is missing; between two, only the rest is.
        assert_int_equal(ft_trace_reader_is_partial(reader), !is_boundary || len == 0);
        ft_trace_reader_close(reader);
        free(bytes);
    }
}

static void a_file_with_any_byte_changed_gives_its_other_blocks(void **state)
{
    uint8_t *bytes = malloc(whole.len);
    uint64_t random = 5;

    (void)state;
    for (size_t at = 0; at < whole.len; at++) {
        for (int round = 0; round < 3; round++) {
            struct ft_trace_reader *reader;
            size_t blocks = 0, damaged, given, hit = 0, problems;
            const uint8_t flips[] = {0xff, 1, (uint8_t)(next_random(&random) % 255 + 1)};

            memcpy(bytes, whole.data, whole.len);
            bytes[at] ^= flips[round];
            for (size_t i = 0; i < frame_count; i++) {
                if (frames[i].offset <= at && at < frames[i].end)
                    hit = frames[i].kind;
                blocks += frames[i].kind == FT_FRAME_BLOCK;
            }
            assert_int_equal(ft_trace_reader_open_memory(bytes, whole.len, NULL, &reader), 0);
            given = check_blocks(reader, &damaged);
            assert_int_equal(given, hit == FT_FRAME_BLOCK ? blocks - 1 : blocks);
            ft_trace_reader_problems(reader, &problems);
            // The reader says so, or the block does.
            assert_true(ft_trace_reader_is_partial(reader) || damaged == 1);
            assert_true(problems > 0 || damaged == 1);
            ft_trace_reader_close(reader);
        }
    }
    free(bytes);
}

static void bytes_taken_out_or_put_in_cost_one_frame(void **state)
{
    uint8_t *bytes = malloc(whole.len + 100);
    uint64_t random = 6;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        size_t at = next_random(&random) % whole.len, n = next_random(&random) % 99 + 1, damaged, given, len;
        size_t blocks = 0, wanted_blocks = 0, end;
        struct ft_trace_reader *reader;
        bool is_put = round % 2;

        if (!is_put && n > whole.len - at)
            n = whole.len - at;
        memcpy(bytes, whole.data, at);
        if (is_put) {
            memset(bytes + at, 0x55, n);
            memcpy(bytes + at + n, whole.data + at, whole.len - at);
        } else {
            memcpy(bytes + at, whole.data + at + n, whole.len - at - n);
        }
        len = is_put ? whole.len + n : whole.len - n;
        end = is_put ? at : at + n;
        for (size_t i = 0; i < frame_count; i++) {
            bool is_hit = frames[i].offset < end && at < frames[i].end;

            if (is_put)
                is_hit = frames[i].offset < at && at < frames[i].end;
            blocks += frames[i].kind == FT_FRAME_BLOCK;
            wanted_blocks += frames[i].kind == FT_FRAME_BLOCK && !is_hit;
        }
        assert_int_equal(ft_trace_reader_open_memory(bytes, len, NULL, &reader), 0);
        given = check_blocks(reader, &damaged);
        assert_int_equal(given, wanted_blocks);
        assert_true(given + damaged <= blocks);
        ft_trace_reader_close(reader);
    }
    free(bytes);
}

static void frames_written_after_a_torn_one_are_found(void **state)
{
    size_t cut = frames[2].offset + 30, rest = whole.len - frames[3].offset;
    uint8_t *bytes = malloc(cut + rest);
    struct ft_trace_reader *reader;
    const struct ft_trace_problem *problems;
    size_t damaged, count;

    (void)state;
    assert_int_equal(frames[2].kind, FT_FRAME_BLOCK);
    memcpy(bytes, whole.data, cut);
    memcpy(bytes + cut, whole.data + frames[3].offset, rest);
    assert_int_equal(ft_trace_reader_open_memory(bytes, cut + rest, NULL, &reader), 0);
    assert_int_equal(check_blocks(reader, &damaged), 2);
    problems = ft_trace_reader_problems(reader, &count);
    assert_int_equal(count, 1);
    assert_int_equal(problems[0].kind, FT_PROBLEM_DAMAGED);
    assert_int_equal(problems[0].offset, frames[2].offset);
    assert_int_equal(problems[0].length, 30);
    ft_trace_reader_close(reader);
    free(bytes);
}

static size_t problem_at(const struct ft_trace_reader *reader, unsigned kind, size_t *length)
{
    size_t count;
    const struct ft_trace_problem *problems = ft_trace_reader_problems(reader, &count);

    for (size_t i = 0; i < count; i++) {
        if (problems[i].kind == kind) {
            *length = (size_t)problems[i].length;
            return (size_t)problems[i].offset;
        }
    }
    return SIZE_MAX;
}

// Ids of what stands there are those of other records.
static void what_is_behind_the_end_or_another_header_is_told_and_not_read(void **state)
{
    size_t end = frames[frame_count - 1].end, torn = frames[3].offset + 30;
    const struct {
        const char *why;
        size_t from;   // of the first part, its bytes
        size_t second; // where the second part begins in the file; SIZE_MAX: zeros
        unsigned kind;
    } cases[] = {
        {"zeros behind the end", end, SIZE_MAX, FT_PROBLEM_BEHIND_END},
        {"frames without a header behind the end", end, frames[1].offset, FT_PROBLEM_BEHIND_END},
        {"a trace behind the end", end, 0, FT_PROBLEM_ANOTHER_TRACE},
        {"a trace behind a file that was not closed", frames[frame_count - 2].offset, 0, FT_PROBLEM_ANOTHER_TRACE},
        {"a trace behind a torn frame", torn, 0, FT_PROBLEM_ANOTHER_TRACE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t rest = cases[i].second == SIZE_MAX ? 1000 : whole.len - cases[i].second, blocks = 0, damaged, length;
        uint8_t *bytes = calloc(1, cases[i].from + rest);
        struct ft_trace_reader *reader;

        print_message("%s\n", cases[i].why);
        memcpy(bytes, whole.data, cases[i].from);
        if (cases[i].second != SIZE_MAX)
            memcpy(bytes + cases[i].from, whole.data + cases[i].second, rest);
        for (size_t f = 0; f < frame_count; f++)
            blocks += frames[f].kind == FT_FRAME_BLOCK && frames[f].end <= cases[i].from;
        assert_int_equal(ft_trace_reader_open_memory(bytes, cases[i].from + rest, NULL, &reader), 0);
        assert_int_equal(check_blocks(reader, &damaged), blocks);
        assert_int_equal(damaged, 0);
        assert_int_equal(problem_at(reader, cases[i].kind, &length), cases[i].from);
        assert_int_equal(length, rest);
        assert_true(ft_trace_reader_is_partial(reader));
        assert_int_equal(ft_trace_reader_is_closed(reader), cases[i].from == end);
        ft_trace_reader_close(reader);
        free(bytes);
    }
}

static void a_file_without_its_first_bytes_opens(void **state)
{
    uint8_t *bytes = calloc(1, whole.len);
    struct ft_trace_reader *reader;
    size_t damaged;

    (void)state;
    memcpy(bytes + frames[0].end, whole.data + frames[0].end, whole.len - frames[0].end);
    assert_int_equal(ft_trace_reader_open_memory(bytes, whole.len, NULL, &reader), 0);
    assert_int_equal(check_blocks(reader, &damaged), 3);
    assert_true(ft_trace_reader_is_partial(reader));
    assert_string_equal(ft_trace_reader_header(reader)->host.data, "");
    ft_trace_reader_close(reader);
    free(bytes);
}

static void what_is_no_trace_is_refused(void **state)
{
    static const char *const texts[] = {"x", "hello, this is no trace at all, only some text", "\x89PNG\r\n\x1a\n"};
    struct ft_trace_reader *reader;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(ft_trace_reader_open_memory(texts[i], strlen(texts[i]), NULL, &reader), -EBADMSG);
    assert_int_equal(ft_trace_reader_open("/nonexistent/x.flow", NULL, &reader), -ENOENT);
    assert_int_equal(ft_trace_reader_open("/", NULL, &reader), -EISDIR);
    assert_int_equal(ft_trace_reader_open("/dev/zero", NULL, &reader), -EINVAL);
}

// Frame headers all over, each of which claims the longest head: looking at each
// in full would take hours.
static void a_file_of_false_frames_ends_soon(void **state)
{
    size_t len = (size_t)20 << 20;
    uint8_t *bytes = malloc(len), header[FT_FRAME_HEADER_BYTES];
    struct ft_trace_reader *reader;
    struct timespec begin, end;

    (void)state;
    ft_frame_encode(header, FT_FRAME_TABLES, 0, NULL, 0, NULL, 0);
    header[11] = 0xff;
    header[10] = 0;
    header[11] = 1;
    for (size_t i = 0; i + sizeof(header) <= len; i += sizeof(header))
        memcpy(bytes + i, header, sizeof(header));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    assert_int_equal(ft_trace_reader_open_memory(bytes, len, NULL, &reader), 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    assert_true(ft_trace_reader_is_partial(reader));
    // Not a time limit: minutes of processor time would be a broken budget.
    assert_true(end.tv_sec - begin.tv_sec < 120);
    ft_trace_reader_close(reader);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_cut_at_any_byte_gives_its_whole_blocks),
        cmocka_unit_test(a_file_with_any_byte_changed_gives_its_other_blocks),
        cmocka_unit_test(bytes_taken_out_or_put_in_cost_one_frame),
        cmocka_unit_test(frames_written_after_a_torn_one_are_found),
        cmocka_unit_test(what_is_behind_the_end_or_another_header_is_told_and_not_read),
        cmocka_unit_test(a_file_without_its_first_bytes_opens),
        cmocka_unit_test(what_is_no_trace_is_refused),
        cmocka_unit_test(a_file_of_false_frames_ends_soon),
    };

    return cmocka_run_group_tests(tests, make_file, free_file);
}
