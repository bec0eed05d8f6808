// SPDX-License-Identifier: MIT
#include "daemon/time_namespace.h"

#include <unistd.h>

#include "daemon/clock.h"
#include "proto/ring.h"
#include "tests/unit/proto/cmocka_all.h"

#define NOBODYS_PID UINT32_MAX
#define DAY_NS INT64_C(86400000000000)

static struct ft_hello hello_of(int64_t ahead_ns)
{
    int64_t mono_ns = ft_clock_mono_ns();
    return (struct ft_hello){.clock = FT_CLOCK_MONOTONIC_NS,
                             .attach_mono_ns = mono_ns + ahead_ns,
                             .attach_real_ns = mono_ns + ft_clock_realtime_offset_ns()};
}

static void a_clock_that_is_elsewhere_is_told_by_what_both_have_in_common(void **state)
{
    (void)state;
    for (int64_t days = 1; days < 1000; days *= 10) {
        const struct ft_hello hello = hello_of(days * DAY_NS);
        assert_in_range(ft_time_namespace_ahead_ns(NOBODYS_PID, &hello) - days * DAY_NS + DAY_NS / 1000, 0,
                        DAY_NS / 500);
    }
}

static void the_same_clock_is_not_moved(void **state)
{
    (void)state;
    struct ft_hello hello = hello_of(DAY_NS);
    assert_int_equal(ft_time_namespace_ahead_ns((uint32_t)getpid(), &hello), 0); // it was the other clock that was set
    hello.clock = FT_CLOCK_TICKS;
    assert_int_equal(ft_time_namespace_ahead_ns(NOBODYS_PID, &hello), 0);
    hello = hello_of(0);
    assert_int_equal(ft_time_namespace_ahead_ns(NOBODYS_PID, &hello), 0);
}

static void a_claim_is_no_more_than_can_be_reckoned_with(void **state)
{
    static const int64_t claims[] = {INT64_MIN,     INT64_MIN + 1, -1,       0, 1, INT64_MAX / 8,
                                     INT64_MAX / 4, INT64_MAX / 2, INT64_MAX};
    enum { COUNT = sizeof(claims) / sizeof(claims[0]) };
    (void)state;
    for (unsigned i = 0; i < COUNT * COUNT; i++) {
        const struct ft_hello hello = {
            .clock = FT_CLOCK_MONOTONIC_NS, .attach_mono_ns = claims[i / COUNT], .attach_real_ns = claims[i % COUNT]};
        int64_t ahead_ns = ft_time_namespace_ahead_ns(NOBODYS_PID, &hello);
        assert_true(ahead_ns <= INT64_MAX / 8 && ahead_ns >= -INT64_MAX / 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_that_is_elsewhere_is_told_by_what_both_have_in_common),
        cmocka_unit_test(the_same_clock_is_not_moved),
        cmocka_unit_test(a_claim_is_no_more_than_can_be_reckoned_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
