// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/analysis_intervals.h"

#define MOST 8

struct union_case {
    const char *why;
    struct ft_interval items[MOST];
    size_t count;
    int64_t length;
    size_t pieces;
};

static const struct union_case union_cases[] = {
    {"nothing", {{0, 0}}, 0, 0, 0},
    {"an empty interval adds nothing", {{5, 5}}, 1, 0, 0},
    {"a negative one adds nothing", {{5, 3}}, 1, 0, 0},
    {"two apart", {{0, 10}, {20, 30}}, 2, 20, 2},
    {"two that touch become one", {{0, 10}, {10, 30}}, 2, 30, 1},
    {"nested", {{0, 100}, {10, 20}, {30, 40}}, 3, 100, 1},
    {"nested, the inner one first", {{10, 20}, {0, 100}}, 2, 100, 1},
    {"overlapping chain", {{0, 10}, {5, 15}, {12, 20}}, 3, 20, 1},
    {"out of order", {{50, 60}, {0, 10}, {55, 70}, {5, 20}}, 4, 40, 2},
    {"twice the same", {{1, 2}, {1, 2}}, 2, 1, 1},
    {"descending", {{30, 31}, {20, 21}, {10, 11}, {0, 1}}, 4, 4, 4},
    {"negative times", {{-20, -10}, {-15, 5}}, 2, 25, 1},
};

static struct ft_intervals list_of(const struct ft_interval *items, size_t count)
{
    struct ft_intervals list = {0};
    for (size_t i = 0; i < count; i++) {
        ft_intervals_add(&list, items[i].start, items[i].end);
    }
    return list;
}

static void a_union_counts_each_moment_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(union_cases) / sizeof(union_cases[0]); i++) {
        const struct union_case *c = &union_cases[i];
        struct ft_intervals list = list_of(c->items, c->count);
        ft_intervals_normalize(&list);
        if (ft_intervals_length(&list) != c->length || list.count != c->pieces) {
            fail_msg("%s: length %lld in %zu pieces", c->why, (long long)ft_intervals_length(&list), list.count);
        }
        ft_intervals_fini(&list);
    }
}

static void a_common_part_is_counted_once(void **state)
{
    (void)state;
    const struct ft_interval a_items[] = {{0, 10}, {20, 30}, {40, 50}}, b_items[] = {{5, 25}, {29, 45}, {60, 70}};
    struct ft_intervals a = list_of(a_items, 3), b = list_of(b_items, 3);
    assert_int_equal(ft_intervals_common(&a, &b), 5 + 5 + 1 + 5);
    assert_int_equal(ft_intervals_common(&b, &a), 16);
    ft_intervals_fini(&a);
    ft_intervals_fini(&b);
}

static void what_is_above_a_mark_begins_with_the_interval_that_holds_it(void **state)
{
    (void)state;
    const struct ft_interval items[] = {{0, 10}, {20, 40}, {50, 60}};
    struct ft_intervals list = list_of(items, 3);
    assert_int_equal(ft_intervals_above(&list, 30), 1);
    assert_int_equal(ft_intervals_above(&list, 40), 2);
    assert_int_equal(ft_intervals_above(&list, 60), 3);
    assert_int_equal(ft_intervals_above(&list, -1), 0);
    ft_intervals_fini(&list);
}

static void a_list_of_many_pieces_is_put_in_order(void **state)
{
    (void)state;
    for (int64_t step = 1; step < INT64_C(1) << 52; step *= 37) {
        struct ft_intervals list = {0};
        int64_t length = 0;
        for (int i = 0; i < 1000; i++) {
            ft_intervals_append(&list, (i * 7919 % 1000 - 500) * 2 * step, ((i * 7919 % 1000 - 500) * 2 + 1) * step);
            length += step;
        }
        ft_intervals_normalize(&list);
        assert_int_equal(list.count, 1000);
        assert_int_equal(ft_intervals_length(&list), length);
        for (size_t i = 1; i < list.count; i++) {
            assert_true(list.items[i].start > list.items[i - 1].end);
        }
        ft_intervals_fini(&list);
    }
}

/* The truth, moment by moment. */
static void mark_moments(unsigned char *moments, const struct ft_intervals *list)
{
    for (size_t i = 0; i < list->count; i++) {
        memset(moments + list->items[i].start, 1, (size_t)(list->items[i].end - list->items[i].start));
    }
}

enum { MOMENTS = 4000, BLOCKS = 40, CALLS = 25 };

struct block {
    struct ft_intervals lists[FT_SWEEP_COUNT];
    int64_t end;
};

static int later_first(const void *a, const void *b)
{
    int64_t x = ((const struct block *)a)->end, y = ((const struct block *)b)->end;
    return (x < y) - (x > y);
}

/* Blocks whose ends rise by and by and whose starts may lie anywhere before: calls that waited long. */
static void make_blocks(struct block *blocks, unsigned *seed)
{
    memset(blocks, 0, BLOCKS * sizeof(*blocks));
    for (int b = 0; b < BLOCKS; b++) {
        for (int i = 0; i < CALLS; i++) {
            int64_t end = (b + 1) * (MOMENTS / BLOCKS) - rand_r(seed) % 150;
            int64_t start = end - (rand_r(seed) % 10 ? rand_r(seed) % 30 : rand_r(seed) % MOMENTS);
            end = end < 0 ? 0 : end;
            start = start < 0 ? 0 : start;
            ft_intervals_add(&blocks[b].lists[rand_r(seed) % FT_SWEEP_COUNT], start, end);
            blocks[b].end = end > blocks[b].end ? end : blocks[b].end;
        }
        for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
            ft_intervals_normalize(&blocks[b].lists[kind]);
        }
    }
    qsort(blocks, BLOCKS, sizeof(*blocks), later_first);
}

static void check_against_moments(const struct block *blocks, const struct ft_sweep *sweep)
{
    static unsigned char moments[FT_SWEEP_COUNT][MOMENTS];
    int64_t total[FT_SWEEP_COUNT] = {0}, io_compute = 0, app_io_compute = 0;
    memset(moments, 0, sizeof(moments));
    for (int b = 0; b < BLOCKS; b++) {
        for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
            mark_moments(moments[kind], &blocks[b].lists[kind]);
        }
    }
    for (int m = 0; m < MOMENTS; m++) {
        for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
            total[kind] += moments[kind][m];
        }
        io_compute += moments[FT_SWEEP_IO][m] & moments[FT_SWEEP_COMPUTE][m];
        app_io_compute += moments[FT_SWEEP_APP_IO][m] & moments[FT_SWEEP_COMPUTE][m];
    }
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        assert_int_equal(sweep->totals.total_ns[kind], total[kind]);
    }
    assert_int_equal(sweep->totals.io_and_compute_ns, io_compute);
    assert_int_equal(sweep->totals.app_io_and_compute_ns, app_io_compute);
}

static void a_sweep_of_blocks_equals_the_moments_counted_one_by_one(void **state)
{
    (void)state;
    static struct block blocks[BLOCKS];
    unsigned seed = 7;
    for (int round = 0; round < 50; round++) {
        struct ft_sweep sweep = {0};
        make_blocks(blocks, &seed);
        for (int b = 0; b < BLOCKS; b++) {
            struct ft_sweep_block block = {0};
            memcpy(block.lists, blocks[b].lists, sizeof(block.lists));
            ft_sweep_block_measure(&block);
            ft_sweep_add(&sweep, &block, b + 1 < BLOCKS ? blocks[b + 1].end : INT64_MIN);
        }
        check_against_moments(blocks, &sweep);
        ft_sweep_fini(&sweep);
        for (int b = 0; b < BLOCKS; b++) {
            for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
                ft_intervals_fini(&blocks[b].lists[kind]);
            }
        }
    }
}

static void a_sweep_keeps_only_what_later_blocks_can_touch(void **state)
{
    (void)state;
    struct ft_sweep sweep = {0};
    for (int64_t b = 1000; b > 0; b--) {
        struct ft_sweep_block block = {0};
        struct ft_intervals *list = &block.lists[FT_SWEEP_IO];
        for (int64_t i = 0; i < 100; i++) {
            ft_intervals_add(list, b * 1000 + i * 10, b * 1000 + i * 10 + 5);
        }
        ft_sweep_block_measure(&block);
        ft_sweep_add(&sweep, &block, (b - 1) * 1000 + 995);
        assert_true(sweep.pending[FT_SWEEP_IO].count <= 1);
        ft_intervals_fini(list);
    }
    ft_sweep_settle(&sweep, INT64_MIN);
    assert_int_equal(sweep.totals.total_ns[FT_SWEEP_IO], 1000 * 100 * 5);
    ft_sweep_fini(&sweep);
}

/* A normal list of so many intervals at most, in [from, from + 400). */
static struct ft_intervals random_list(unsigned *seed, int64_t from, size_t most)
{
    struct ft_intervals list = {0};
    for (size_t i = 0; i < most; i++) {
        int64_t start = from + rand_r(seed) % 380;
        ft_intervals_append(&list, start, start + 1 + rand_r(seed) % 20);
    }
    ft_intervals_normalize(&list);
    return list;
}

static void merged_lists_are_what_all_their_intervals_are_as_one(void **state)
{
    unsigned seed = 5;
    (void)state;
    for (int round = 0; round < 5000; round++) {
        struct ft_intervals list = random_list(&seed, rand_r(&seed) % 800, (size_t)rand_r(&seed) % 12), both = {0};
        struct ft_intervals other = random_list(&seed, rand_r(&seed) % 800, (size_t)rand_r(&seed) % 12);
        for (size_t i = 0; i < list.count + other.count; i++) {
            struct ft_interval one = i < list.count ? list.items[i] : other.items[i - list.count];
            ft_intervals_append(&both, one.start, one.end);
        }
        ft_intervals_normalize(&both);
        ft_intervals_merge(&list, &other);
        assert_int_equal(list.count, both.count);
        for (size_t i = 0; i < both.count; i++) {
            assert_int_equal(list.items[i].start, both.items[i].start);
            assert_int_equal(list.items[i].end, both.items[i].end);
        }
        ft_intervals_fini(&list);
        ft_intervals_fini(&other);
        ft_intervals_fini(&both);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_union_counts_each_moment_once),
        cmocka_unit_test(a_common_part_is_counted_once),
        cmocka_unit_test(what_is_above_a_mark_begins_with_the_interval_that_holds_it),
        cmocka_unit_test(a_list_of_many_pieces_is_put_in_order),
        cmocka_unit_test(merged_lists_are_what_all_their_intervals_are_as_one),
        cmocka_unit_test(a_sweep_of_blocks_equals_the_moments_counted_one_by_one),
        cmocka_unit_test(a_sweep_keeps_only_what_later_blocks_can_touch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
