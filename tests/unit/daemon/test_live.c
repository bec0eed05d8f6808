// SPDX-License-Identifier: MIT
#include "daemon/live.h"

#include "daemon/drain.h"
#include "daemon/process.h"
#include "proto/calls.h"
#include "tests/unit/proto/cmocka_all.h"

#define SECOND_NS INT64_C(1000000000)

static struct ft_live live;
static struct ft_process process;

static int set_up(void **state)
{
    (void)state;
    live = (struct ft_live){.is_on = true, .since_ns = 5 * SECOND_NS, .as_of_ns = 20 * SECOND_NS};
    process = (struct ft_process){.clock = FT_CLOCK_TICKS};
    return 0;
}

static void add(int64_t start_ns, int64_t dur_ns)
{
    struct ft_drain drain = {.live = &live};
    const struct ft_event event = {
        .kind = FT_EVENT_CALL, .call = FT_CALL_ID_read, .start_ns = start_ns, .dur_ns = dur_ns};
    ft_live_add(&drain, &process, &event);
}

static void what_was_done_long_before_the_last_picture_is_the_process_s_alone(void **state)
{
    (void)state;
    add(6 * SECOND_NS, 1);
    add(6 * SECOND_NS, 12 * SECOND_NS);
    assert_int_equal(process.live.ops, 2);
    assert_int_equal(live.sum.ops, 0);
}

static void what_came_a_little_late_or_is_new_is_the_job_s_too(void **state)
{
    (void)state;
    add(19 * SECOND_NS + SECOND_NS / 2, 1);
    add(21 * SECOND_NS, 1);
    add(6 * SECOND_NS, 14 * SECOND_NS); // it went on until then
    assert_int_equal(process.live.ops, 3);
    assert_int_equal(live.sum.ops, 3);
}

static void what_had_ended_before_somebody_watched_is_nobody_s(void **state)
{
    (void)state;
    add(4 * SECOND_NS, 1);
    assert_int_equal(process.live.ops, 0);
    assert_int_equal(live.sum.ops, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_was_done_long_before_the_last_picture_is_the_process_s_alone, set_up),
        cmocka_unit_test_setup(what_came_a_little_late_or_is_new_is_the_job_s_too, set_up),
        cmocka_unit_test_setup(what_had_ended_before_somebody_watched_is_nobody_s, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
