// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/refused.h"
#include "daemon/seen.h"

static void an_attached_pid_is_found_from_its_time_on(void **state)
{
    (void)state;
    struct ft_seen seen = {0};
    assert_null(ft_seen_find(&seen, 7, 0));
    ft_seen_add(&seen, 7, 1000, FT_BYTES("/bin/true"));
    assert_non_null(ft_seen_find(&seen, 7, 1000));
    assert_null(ft_seen_find(&seen, 7, 1001));
    assert_null(ft_seen_find(&seen, 8, 0));
    ft_seen_add(&seen, 7, 2000, FT_BYTES("/bin/cat"));
    assert_int_equal(ft_seen_find(&seen, 7, 1500)->exe, ft_seen_hash(FT_BYTES("/bin/cat")));
    ft_seen_add(&seen, 7, 1600, FT_BYTES("/bin/true")); // told late
    assert_int_equal(ft_seen_find(&seen, 7, 1500)->exe, ft_seen_hash(FT_BYTES("/bin/cat")));
    ft_seen_add(&seen, 0, 3000, FT_BYTES("/bin/cat"));
    assert_int_equal(seen.count, 1);
    ft_seen_fini(&seen);
}

static void many_pids_are_all_found(void **state)
{
    (void)state;
    struct ft_seen seen = {0};
    for (uint32_t pid = 1; pid <= 50000; pid++)
        ft_seen_add(&seen, pid * 4096, pid, FT_BYTES("x")); // ids that differ in their upper bits alone
    for (uint32_t pid = 1; pid <= 50000; pid++)
        assert_non_null(ft_seen_find(&seen, pid * 4096, pid));
    assert_true(seen.room >= 2 * seen.count);
    ft_seen_fini(&seen);
}

static void more_than_there_is_room_for_begin_anew(void **state)
{
    (void)state;
    struct ft_seen seen = {0};
    for (uint32_t pid = 1; pid <= 600000; pid++)
        ft_seen_add(&seen, pid, pid, FT_BYTES("x"));
    assert_non_null(ft_seen_find(&seen, 600000, 0));
    assert_true(seen.room <= 1u << 20);
    ft_seen_fini(&seen);
}

static void refused_processes_are_named_up_to_a_number_and_lost_ones_all(void **state)
{
    (void)state;
    static struct ft_refused refused;
    assert_int_equal(ft_refused_due_ns(&refused), INT64_MAX);
    for (uint32_t pid = 1; pid <= FT_REFUSED_NAMED_MAX + 10; pid++)
        ft_refused_add(&refused, pid, FT_GAP_NOT_ADMITTED, NULL, "why");
    assert_int_equal(refused.named_count, FT_REFUSED_NAMED_MAX);
    assert_int_equal(refused.more_count, 10);
    assert_int_equal(ft_refused_due_ns(&refused), 0);
    for (uint32_t pid = 1; pid <= 100; pid++)
        ft_refused_add(&refused, pid, FT_GAP_DAEMON_STOPPED, NULL, "lost");
    assert_int_equal(refused.named_count, FT_REFUSED_NAMED_MAX + 100);
    refused.named_count = 0; // written
    refused.next_ns = 5;
    assert_int_equal(ft_refused_due_ns(&refused), 5);
    ft_refused_add(&refused, 1, FT_GAP_NOT_ADMITTED, NULL, "why");
    assert_int_equal(refused.more_count, 11);
    ft_refused_add(&refused, 1, FT_GAP_NOT_ATTACHED, NULL, "why");
    assert_int_equal(refused.more_count, 11);
    assert_int_equal(refused.unsent_count, 1);
    ft_refused_fini(&refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attached_pid_is_found_from_its_time_on),
        cmocka_unit_test(many_pids_are_all_found),
        cmocka_unit_test(more_than_there_is_room_for_begin_anew),
        cmocka_unit_test(refused_processes_are_named_up_to_a_number_and_lost_ones_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
