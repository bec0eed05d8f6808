// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/plain.h"
#include "daemon/record.h"

static uint64_t record[FT_RECORD_SLOTS_MAX * FT_SLOT_WORDS];

static void begin(unsigned flags, unsigned result, unsigned error, uint64_t low)
{
    memset(record, 0, sizeof(record));
    record[0] = FT_W0(FT_RECORD_CALL, 1, 33, flags, 7, 5);
    record[1] = 1000 | UINT64_C(50) << 40;
    record[2] = 17 | UINT64_C(4096) << 32;
    record[3] = low | (uint64_t)error << 48 | (uint64_t)result << 60;
}

static void test_one_slot_says_all_of_an_ordinary_call(void **state)
{
    struct ft_record_event event;
    (void)state;
    begin(FT_CALL_OFFSET | FT_CALL_SIZE, FT_RESULT_SIZE, 0, 8192);
    assert_true(ft_record_event(record, 1, 5000, &event));
    assert_int_equal(event.call, 33);
    assert_int_equal(event.end_ticks, 6000);
    assert_int_equal(event.duration_ticks, 50);
    assert_int_equal(event.file, 17);
    assert_int_equal(event.size, 4096);
    assert_int_equal(event.result, 4096);
    assert_int_equal(event.offset, 8192);
    assert_int_equal(event.fd, 5);
    assert_true(event.has_size && event.has_offset && event.has_result && !event.has_arg);
}

struct result_case {
    unsigned result, error;
    uint64_t low;
    bool has_result;
    int64_t value;
    const char *why;
};

static const struct result_case result_cases[] = {
    {FT_RESULT_NONE, 0, 0, false, 0, "does not return"},  {FT_RESULT_ZERO, 0, 0, true, 0, "zero"},
    {FT_RESULT_ERROR, 2, 0, true, -1, "failed"},          {FT_RESULT_FD, 0, 0, true, 5, "the descriptor"},
    {FT_RESULT_SMALL, 0, 12345, true, 12345, "a number"},
};

static void test_results_have_short_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(result_cases) / sizeof(result_cases[0]); i++) {
        struct ft_record_event event;
        begin(FT_CALL_SIZE, result_cases[i].result, result_cases[i].error, result_cases[i].low);
        assert_true(ft_record_event(record, 1, 0, &event));
        if (event.has_result != result_cases[i].has_result || event.result != result_cases[i].value ||
            event.err != (int32_t)result_cases[i].error)
            fail_msg("%s: %lld", result_cases[i].why, (long long)event.result);
    }
    struct ft_record_event event;
    begin(0, 15, 0, 0);
    assert_false(ft_record_event(record, 1, 0, &event));
}

static void test_extensions_are_read_in_the_order_of_their_bits(void **state)
{
    struct ft_record_event event;
    (void)state;
    begin(0, FT_RESULT_EXT, 0, 0);
    record[4] = FT_EXT_DURATION | FT_EXT_RESULT | FT_EXT_SIZE | FT_EXT_OFFSET | FT_EXT_BYTES | FT_EXT_ARG |
                FT_EXT_FILE2 | FT_EXT_FD | FT_EXT_INODE | FT_EXT_KIND | FT_EXT_CORRELATION;
    uint64_t values[] = {1, (uint64_t)-2, 3, 4, 5, 6, 7, (uint32_t)-8, 9, 10, 2, 11};
    memcpy(record + 5, values, sizeof(values));
    assert_true(ft_record_event(record, 5, 0, &event));
    assert_int_equal(event.duration_ticks, 1);
    assert_int_equal(event.result, -2);
    assert_int_equal(event.size, 3);
    assert_int_equal(event.offset, 4);
    assert_int_equal(event.bytes, 5);
    assert_int_equal(event.arg, 6);
    assert_int_equal(event.file2, 7);
    assert_int_equal(event.fd, -8);
    assert_int_equal(event.device, 9);
    assert_int_equal(event.inode, 10);
    assert_int_equal(event.file_kind, FT_FILE_WIRE_DIRECTORY);
    // The same words in too few slots.
    assert_false(ft_record_event(record, 4, 0, &event));
}

static void test_any_mask_stays_within_the_record(void **state)
{
    struct ft_record_event event;
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 100000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        begin((unsigned)seed & 8191, FT_RESULT_EXT, 0, 0);
        record[4] = seed;
        ft_record_event(record, 2, seed, &event); // the sanitizer looks on
    }
}

// The short way of plain.h reads a record as the long way does, or leaves it to that.
static void test_the_short_way_and_the_long_way_agree(void **state)
{
    (void)state;
    unsigned taken = 0;
    for (unsigned flags = 0; flags < 512; flags++)
        for (unsigned result = 0; result < 16; result++) {
            struct ft_record_event record_event;
            begin(flags, result, result == FT_RESULT_ERROR ? 5 : 0, 777);
            struct ft_event event = {.fd = 5, .size = flags & FT_CALL_SIZE ? 4096 : 0};
            if (!ft_plain_result(&event, flags, record[3]))
                continue;
            taken++;
            assert_true(ft_record_event(record, 1, 0, &record_event));
            assert_true(record_event.has_result);
            assert_int_equal(event.result, record_event.result);
            assert_int_equal(event.err, record_event.err);
            assert_int_equal(!!(event.has & FT_HAS_OFFSET), record_event.has_offset);
            assert_int_equal(!!(event.has & FT_HAS_SIZE), record_event.has_size);
            assert_int_equal(!!(event.has & FT_HAS_ARG), record_event.has_arg);
            if (record_event.has_offset)
                assert_int_equal(event.offset, record_event.offset);
            bool has_bytes = record_event.has_bytes || (!(flags & FT_CALL_NO_BYTES) && record_event.result >= 0);
            assert_int_equal(!!(event.has & FT_HAS_BYTES), has_bytes);
            if (has_bytes)
                assert_int_equal(event.bytes,
                                 record_event.has_bytes ? record_event.bytes : (uint64_t)record_event.result);
        }
    assert_true(taken > 2000);
}

static uint8_t chunk[FT_CHUNK_BYTES] __attribute__((aligned(8)));

static void put(unsigned slot, unsigned kind, unsigned slots, uint64_t fill)
{
    uint64_t word = FT_W0(kind, slots, 1, 0, fill, 0);
    memcpy(chunk + FT_CHUNK_HEAD_BYTES + slot * FT_SLOT_BYTES, &word, sizeof(word));
}

static void test_slots_are_published_by_their_chunks_fill(void **state)
{
    (void)state;
    memset(chunk, 0, sizeof(chunk));
    put(0, FT_RECORD_CALL, 2, 3);
    put(2, FT_RECORD_CALL, 1, 2);
    put(3, FT_RECORD_PAD, 32, 3);
    put(125, FT_RECORD_CALL, 2, 3);
    put(124, FT_RECORD_CALL, 2, 3 + (1u << 16)); // only 16 bits of the fill are there
    assert_int_equal(ft_record_slots(chunk, 0, 3), 2);
    assert_int_equal(ft_record_slots(chunk, 1, 3), FT_RECORD_UNPUBLISHED);
    assert_int_equal(ft_record_slots(chunk, 2, 3), FT_RECORD_UNPUBLISHED);
    assert_int_equal(ft_record_slots(chunk, 3, 3), 32);
    assert_int_equal(ft_record_slots(chunk, 124, 3), 2);
    assert_int_equal(ft_record_slots(chunk, 125, 3), FT_RECORD_CORRUPT);
    assert_int_equal(ft_record_find_published(chunk, 1, 3), 3);
    assert_int_equal(ft_record_find_published(chunk, 4, 3), 124);
    assert_int_equal(ft_record_find_published(chunk, 125, 3), FT_CHUNK_SLOTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_slot_says_all_of_an_ordinary_call),
        cmocka_unit_test(test_results_have_short_forms),
        cmocka_unit_test(test_extensions_are_read_in_the_order_of_their_bits),
        cmocka_unit_test(test_any_mask_stays_within_the_record),
        cmocka_unit_test(test_the_short_way_and_the_long_way_agree),
        cmocka_unit_test(test_slots_are_published_by_their_chunks_fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
