// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/cli/analysis_file_sums.h"

enum { FILES = 5 };

static ft_scan_counts counts_of(uint32_t events, uint32_t errors, uint32_t opens, uint32_t metadata)
{
    ft_scan_counts counts = {0};
    counts[FT_SCAN_EVENTS] = events;
    counts[FT_SCAN_ERRORS] = errors;
    counts[FT_SCAN_OPENS] = opens;
    counts[FT_SCAN_METADATA] = metadata;
    return counts;
}

static void nothing_is_known_of_a_file_without_events(void **state)
{
    (void)state;
    struct ft_file_sums sums;
    ft_file_sums_init(&sums, FILES);
    for (uint32_t f = 0; f < FILES; f++) {
        struct ft_file_sum sum = ft_file_sums_get(&sums, f);
        assert_int_equal(sum.events, 0);
        assert_int_equal(sum.first_ns, INT64_MAX);
        assert_false(ft_file_sums_has_events(&sums, f));
    }
    ft_file_sums_fini(&sums);
}

static void counts_of_sums_are_of_any_size(void **state)
{
    (void)state;
    const struct ft_file_sum more = {.first_ns = INT64_MAX,
                                     .events = UINT64_C(5) << 32,
                                     .errors = UINT64_C(1) << 33,
                                     .opens = UINT64_C(1) << 34,
                                     .metadata = UINT64_C(1) << 35,
                                     .reads = UINT64_C(1) << 36,
                                     .writes = UINT64_C(1) << 37};
    struct ft_file_sums sums;
    ft_file_sums_init(&sums, FILES);
    ft_file_sums_add(&sums, 1, counts_of(7, 0, 0, 0), 0, 5);
    ft_file_sums_add_counts(&sums, 1, &more);
    ft_file_sums_add_counts(&sums, 1, &more);
    ft_file_sums_join(&sums, 2, 1);
    struct ft_file_sum sum = ft_file_sums_get(&sums, 2);
    assert_int_equal(sum.events, 2 * more.events + 7);
    assert_int_equal(sum.errors, 2 * more.errors);
    assert_int_equal(sum.opens, 2 * more.opens);
    assert_int_equal(sum.metadata, 2 * more.metadata);
    assert_int_equal(sum.reads, 2 * more.reads);
    assert_int_equal(sum.writes, 2 * more.writes);
    assert_int_equal(sum.first_ns, 5);
    assert_false(ft_file_sums_has_events(&sums, 1));
    ft_file_sums_fini(&sums);
}

/* Each count alone, and together with others, passes what 32 bits hold. */
static void counts_may_be_larger_than_32_bits(void **state)
{
    (void)state;
    static const uint32_t steps[] = {1, UINT32_C(1) << 31, UINT32_MAX, 0, 3000000000U, UINT32_C(1) << 31, 7};
    struct ft_file_sums sums;
    uint64_t wanted = 0;
    ft_file_sums_init(&sums, FILES);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        uint32_t step = steps[i];
        struct ft_scan_moved moved = {.count = {step, step}, .bytes = {step, 2}, .time_ns = {step, 3}};
        wanted += step;
        ft_file_sums_add(&sums, 1, counts_of(step, 0, 0, 0), step, 5);
        ft_file_sums_add(&sums, 2, counts_of(1, step, 0, 0), 0, -(int64_t)i);
        ft_file_sums_add(&sums, 3, counts_of(0, 0, step, step), 0, INT64_MAX);
        ft_file_sums_add_moved(&sums, 4, &moved);
        struct ft_file_sum events = ft_file_sums_get(&sums, 1), errors = ft_file_sums_get(&sums, 2);
        struct ft_file_sum opens = ft_file_sums_get(&sums, 3), moves = ft_file_sums_get(&sums, 4);
        assert_int_equal(events.events, wanted);
        assert_int_equal(events.metadata_time_ns, wanted);
        assert_int_equal(events.first_ns, 5);
        assert_int_equal(errors.errors, wanted);
        assert_int_equal(errors.events, i + 1);
        assert_int_equal(errors.first_ns, -(int64_t)i);
        assert_int_equal(opens.opens, wanted);
        assert_int_equal(opens.metadata, wanted);
        assert_int_equal(opens.first_ns, INT64_MAX);
        assert_int_equal(moves.reads, wanted);
        assert_int_equal(moves.writes, wanted);
        assert_int_equal(moves.read_bytes, wanted);
        assert_int_equal(moves.write_time_ns, 3 * (i + 1));
        assert_true(ft_file_sums_has_events(&sums, 1));
        assert_int_equal(ft_file_sums_time(&sums, 4), wanted + 3 * (i + 1));
    }
    ft_file_sums_fini(&sums);
}

static void a_file_that_joins_another_leaves_nothing_behind(void **state)
{
    (void)state;
    struct ft_file_sums sums;
    struct ft_scan_moved moved = {.count = {UINT32_MAX, 1}, .bytes = {10, 20}, .time_ns = {30, 40}};
    ft_file_sums_init(&sums, FILES);
    for (uint32_t f = 0; f < 2; f++) {
        for (int i = 0; i < 3; i++) {
            ft_file_sums_add(&sums, f, counts_of(UINT32_MAX, 1, 2, 3), 100, f == 0 ? 7 : 4);
            ft_file_sums_add_moved(&sums, f, &moved);
        }
        sums.processes[f] = 9;
    }
    ft_file_sums_join(&sums, 0, 1);
    struct ft_file_sum sum = ft_file_sums_get(&sums, 0), left = ft_file_sums_get(&sums, 1);
    assert_int_equal(sum.events, 6 * (uint64_t)UINT32_MAX);
    assert_int_equal(sum.errors, 6);
    assert_int_equal(sum.opens, 12);
    assert_int_equal(sum.metadata, 18);
    assert_int_equal(sum.metadata_time_ns, 600);
    assert_int_equal(sum.first_ns, 4);
    assert_int_equal(sum.reads, 6 * (uint64_t)UINT32_MAX);
    assert_int_equal(sum.writes, 6);
    assert_int_equal(sum.read_bytes, 60);
    assert_int_equal(sum.written_bytes, 120);
    assert_int_equal(sum.read_time_ns, 180);
    assert_int_equal(sum.write_time_ns, 240);
    assert_int_equal(sum.processes, 9);
    assert_int_equal(left.events | left.reads | left.writes | left.read_bytes | left.metadata_time_ns, 0);
    assert_int_equal(left.processes, 0);
    assert_int_equal(left.first_ns, INT64_MAX);
    assert_false(ft_file_sums_has_events(&sums, 1));
    ft_file_sums_fini(&sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_of_a_file_without_events),
        cmocka_unit_test(counts_of_sums_are_of_any_size),
        cmocka_unit_test(counts_may_be_larger_than_32_bits),
        cmocka_unit_test(a_file_that_joins_another_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
