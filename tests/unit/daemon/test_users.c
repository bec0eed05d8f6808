// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/users.h"

#define MIB ((uint64_t)1 << 20)

enum { ALL = 64, ONE = 20 }; // MiB

static struct ft_users users;

static int set_up(void **state)
{
    const struct ft_users_limits limits = {.processes = 2, .bytes = ONE * MIB, .all_bytes = ALL * MIB};
    (void)state;
    ft_users_init(&users, &limits);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ft_users_fini(&users);
    return 0;
}

// All that a user gets, a MiB at a time.
static unsigned take_all(uint32_t uid)
{
    unsigned count = 0;
    while (count <= ALL && ft_users_take_bytes(&users, uid, MIB))
        count++;
    return count;
}

static void none_has_more_than_is_left_for_the_others(void **state)
{
    static const unsigned shares[] = {ONE, ONE, 12, 6, 3, 1, 1, 0};
    uint64_t sum = 0;
    (void)state;
    for (uint32_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        assert_int_equal(take_all(1000 + i), shares[i]);
        sum += shares[i] * MIB;
        assert_int_equal(ft_users_bytes(&users), sum);
        assert_true(sum < ALL * MIB);
    }
}

static void what_is_given_back_is_there_for_others(void **state)
{
    (void)state;
    for (uint32_t uid = 1000; uid < 1008; uid++)
        take_all(uid);
    assert_false(ft_users_take_bytes(&users, 2000, 4 * MIB));
    ft_users_give_bytes(&users, 1000, ONE * MIB);
    assert_true(ft_users_take_bytes(&users, 2000, 4 * MIB));
    ft_users_give_bytes(&users, 1001, UINT64_MAX); // no more than it has
    ft_users_give_bytes(&users, 3000, 4 * MIB);    // who has nothing
    assert_int_equal(ft_users_bytes(&users), (12 + 6 + 3 + 1 + 1 + 4) * MIB);
}

static void numbers_beyond_all_are_refused(void **state)
{
    (void)state;
    assert_false(ft_users_take_bytes(&users, 1000, UINT64_MAX));
    assert_false(ft_users_take_bytes(&users, 1000, UINT64_MAX / 2 + 1));
    assert_int_equal(ft_users_bytes(&users), 0);
}

static void what_was_there_before_us_is_kept_over_the_limits_and_counts(void **state)
{
    (void)state;
    assert_true(ft_users_keep_bytes(&users, 1000, 2 * ALL * MIB));
    assert_int_equal(ft_users_bytes(&users), 2 * ALL * MIB);
    assert_false(ft_users_take_bytes(&users, 1000, 1));
    assert_false(ft_users_take_bytes(&users, 1001, 1));
    ft_users_give_bytes(&users, 1000, 2 * ALL * MIB);
    assert_int_equal(take_all(1001), ONE);
}

static void lower_limits_hold_for_who_comes_then(void **state)
{
    (void)state;
    assert_int_equal(take_all(1000), ONE);
    ft_users_set_limits(&users, &(struct ft_users_limits){.processes = 2, .bytes = ONE * MIB, .all_bytes = ONE * MIB});
    assert_false(ft_users_take_bytes(&users, 1001, 1));
    assert_int_equal(ft_users_bytes(&users), ONE * MIB);
}

static void jobs_have_equal_parts_of_their_users_and_these_of_all(void **state)
{
    const struct ft_users_limits limits = {.job_bytes = 40 * MIB, .all_job_bytes = 60 * MIB};
    (void)state;
    ft_users_set_limits(&users, &limits);
    ft_users_add_job(&users, 1000);
    assert_int_equal(ft_users_job_bytes(&users, 1000), 40 * MIB); // all that one may have
    ft_users_add_job(&users, 1000);
    assert_int_equal(ft_users_job_bytes(&users, 1000), 20 * MIB);
    ft_users_add_job(&users, 1001);
    assert_int_equal(ft_users_job_bytes(&users, 1000), 15 * MIB);
    assert_int_equal(ft_users_job_bytes(&users, 1001), 30 * MIB);
    ft_users_add_job(&users, 1002);
    ft_users_remove_job(&users, 1001);
    ft_users_remove_job(&users, 1001); // has none
    assert_int_equal(ft_users_job_bytes(&users, 1000), 15 * MIB);
    assert_int_equal(ft_users_job_bytes(&users, 1002), 30 * MIB);
    ft_users_remove_job(&users, 1002);
    assert_int_equal(ft_users_job_bytes(&users, 1000), 20 * MIB);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(none_has_more_than_is_left_for_the_others),
        TEST(what_is_given_back_is_there_for_others),
        TEST(numbers_beyond_all_are_refused),
        TEST(what_was_there_before_us_is_kept_over_the_limits_and_counts),
        TEST(lower_limits_hold_for_who_comes_then),
        TEST(jobs_have_equal_parts_of_their_users_and_these_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
