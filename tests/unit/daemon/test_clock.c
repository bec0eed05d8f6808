// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/clock.h"

// A counter of 2 ticks per nanosecond whose clock runs 0.1 % faster from 30 ms on.
static int64_t truth(uint64_t ticks)
{
    double ns = (double)ticks / 2;
    return 1000000 + (int64_t)(ns <= 30e6 ? ns : 30e6 + (ns - 30e6) * 1.001);
}

static struct ft_clock_pairs clock_pairs;
static struct ft_clock_view view;

static void fill(void)
{
    ft_clock_init(&clock_pairs, 10000000);
    clock_pairs.count = 0;
    for (uint64_t ticks = 2000000; ticks <= 120000000; ticks += 20000000)
        ft_clock_push(&clock_pairs, (struct ft_clock_pair){.ticks = ticks, .mono_ns = truth(ticks)}, 40);
    ft_clock_view_init(&view, &clock_pairs);
}

static void test_times_between_pairs_are_interpolated(void **state)
{
    (void)state;
    fill();
    for (uint64_t ticks = 2000000; ticks < 100000000; ticks += 777777) {
        int64_t off = ft_clock_view_ns(&view, ticks) - truth(ticks);
        assert_in_range(off + 6000, 0, 12000); // half an interval at the wrong rate, at most
    }
    ft_clock_fini(&clock_pairs);
}

static void test_times_outside_of_all_pairs_go_on_at_their_rate(void **state)
{
    (void)state;
    fill();
    assert_in_range(ft_clock_view_ns(&view, 1000000) - truth(1000000) + 2000, 0, 4000);
    assert_in_range(ft_clock_view_ns(&view, 140000000) - truth(140000000) + 20000, 0, 40000);
    // Forwards again: the view has no memory of where it was.
    assert_in_range(ft_clock_view_ns(&view, 50000000) - truth(50000000) + 6000, 0, 12000);
    ft_clock_fini(&clock_pairs);
}

static void test_time_never_runs_backwards(void **state)
{
    (void)state;
    fill();
    int64_t last = INT64_MIN;
    for (uint64_t ticks = 0; ticks < 150000000; ticks += 99999) {
        int64_t now = ft_clock_view_ns(&view, ticks);
        assert_true(now >= last);
        last = now;
    }
    ft_clock_fini(&clock_pairs);
}

static void test_any_ticks_give_a_number(void **state)
{
    (void)state;
    fill();
    static const uint64_t odd[] = {0, 1, UINT64_MAX, UINT64_MAX / 2, UINT64_C(1) << 63};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        int64_t ns = ft_clock_view_ns(&view, odd[i]);
        assert_true(ns > -(INT64_C(1) << 62) && ns < INT64_C(1) << 62);
    }
    ft_clock_fini(&clock_pairs);
}

static void test_many_pairs_are_thinned_out_and_the_oldest_stays(void **state)
{
    (void)state;
    ft_clock_init(&clock_pairs, 10000000);
    clock_pairs.count = 0;
    for (uint64_t i = 1; i <= 100000; i++)
        ft_clock_push(&clock_pairs, (struct ft_clock_pair){.ticks = i * 20000000, .mono_ns = (int64_t)i * 10000000},
                      40);
    assert_true(clock_pairs.count <= FT_CLOCK_PAIRS_MAX);
    assert_int_equal(clock_pairs.pairs[0].ticks, 20000000);
    for (unsigned i = 1; i < clock_pairs.count; i++)
        assert_true(clock_pairs.pairs[i].ticks > clock_pairs.pairs[i - 1].ticks);
    ft_clock_fini(&clock_pairs);
}

static void test_pairs_that_run_backwards_are_ignored(void **state)
{
    (void)state;
    fill();
    unsigned before = clock_pairs.count;
    ft_clock_push(&clock_pairs, (struct ft_clock_pair){.ticks = 5, .mono_ns = truth(200000000)}, 40);
    ft_clock_push(&clock_pairs, (struct ft_clock_pair){.ticks = 200000000, .mono_ns = 5}, 40);
    assert_int_equal(clock_pairs.count, before);
    ft_clock_fini(&clock_pairs);
}

// The counter runs on while the machine sleeps, CLOCK_MONOTONIC does not.
static void test_a_suspended_machine_costs_no_time_and_no_rate(void **state)
{
    (void)state;
    const uint64_t hour = UINT64_C(7200) * 1000000000;
    fill();
    clock_pairs.count = 0;
    for (uint64_t i = 1; i <= 20; i++) {
        uint64_t slept = i > 10 ? hour : 0;
        ft_clock_push(&clock_pairs,
                      (struct ft_clock_pair){.ticks = i * 20000000 + slept, .mono_ns = (int64_t)i * 10000000}, 40);
    }
    ft_clock_view_init(&view, &clock_pairs);
    assert_int_equal((int)(ft_clock_view_rate(&view) * 1e6 + 0.5), 500000);
    assert_int_equal(ft_clock_view_ns(&view, 5 * 20000000 + 2000), 50001000);                 // before
    assert_int_equal(ft_clock_view_ns(&view, 15 * 20000000 + hour + 2000), 150001000);        // after
    assert_in_range(ft_clock_view_ns(&view, 10 * 20000000 + hour / 2), 100000000, 110000000); // while it slept
    assert_in_range(ft_clock_view_ns(&view, 21 * 20000000 + hour), 209999000, 210001000);     // later than all
    assert_int_equal(ft_clock_about_ns(&clock_pairs, 5 * 20000000 + 2000), 50001000);
    assert_int_equal(ft_clock_about_ns(&clock_pairs, 15 * 20000000 + hour + 2000), 150001000);
    assert_in_range(ft_clock_about_ns(&clock_pairs, 21 * 20000000 + hour), 209999000, 210001000);
    ft_clock_fini(&clock_pairs);
}

static void test_about_when_is_told_from_two_pairs_on(void **state)
{
    (void)state;
    ft_clock_init(&clock_pairs, 10000000);
    assert_int_equal(ft_clock_about_ns(&clock_pairs, 1000), 0);
    ft_clock_push(&clock_pairs, (struct ft_clock_pair){.ticks = 1000, .mono_ns = 5000}, 40);
    assert_int_equal(ft_clock_about_ns(&clock_pairs, 1000), 0);
    ft_clock_push(&clock_pairs, (struct ft_clock_pair){.ticks = 3000, .mono_ns = 6000}, 40);
    assert_int_equal(ft_clock_about_ns(&clock_pairs, 2000), 5500);
    assert_int_equal(ft_clock_about_ns(&clock_pairs, 4000), 6500);
    assert_true(ft_clock_about_ns(&clock_pairs, UINT64_MAX) > 6000); // any ticks give a number
    ft_clock_fini(&clock_pairs);
}

static void test_the_real_clock_is_met(void **state)
{
    (void)state;
    ft_clock_init(&clock_pairs, 1000000);
    for (int i = 0; i < 20; i++)
        ft_clock_tick(&clock_pairs, true);
    assert_true(clock_pairs.count >= 1);
    assert_true(clock_pairs.pairs[clock_pairs.count - 1].mono_ns <= ft_clock_mono_ns());
    ft_clock_fini(&clock_pairs);
}

// While made_clock is set, each look at a clock takes 100 ns, and one of them a second more.
#define REALTIME_AHEAD INT64_C(1700000000000000000)
static bool made_clock;
static int looks, late_look;
static int64_t made_ns;

int clock_gettime(clockid_t id, struct timespec *now)
{
    if (!made_clock)
        return (int)syscall(SYS_clock_gettime, id, now);
    made_ns += looks++ == late_look ? 1000000100 : 100;
    int64_t ns = made_ns + (id == CLOCK_REALTIME ? REALTIME_AHEAD : 0);
    *now = (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return 0;
}

static void test_the_wall_clock_is_met_by_who_loses_its_processor_between_two_looks(void **state)
{
    (void)state;
    for (late_look = 0; late_look < 12; late_look++) {
        looks = 0;
        made_clock = true;
        int64_t offset_ns = ft_clock_realtime_offset_ns();
        made_clock = false;
        assert_int_equal(offset_ns, REALTIME_AHEAD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_between_pairs_are_interpolated),
        cmocka_unit_test(test_times_outside_of_all_pairs_go_on_at_their_rate),
        cmocka_unit_test(test_time_never_runs_backwards),
        cmocka_unit_test(test_any_ticks_give_a_number),
        cmocka_unit_test(test_many_pairs_are_thinned_out_and_the_oldest_stays),
        cmocka_unit_test(test_pairs_that_run_backwards_are_ignored),
        cmocka_unit_test(test_a_suspended_machine_costs_no_time_and_no_rate),
        cmocka_unit_test(test_about_when_is_told_from_two_pairs_on),
        cmocka_unit_test(test_the_real_clock_is_met),
        cmocka_unit_test(test_the_wall_clock_is_met_by_who_loses_its_processor_between_two_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
