// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/retain.h"

enum { JOBS = 6, NOW_S = 1000 };
#define NS INT64_C(1000000000)

struct made {
    const char *name;
    uint32_t uid;
    uint64_t bytes;
    int64_t written_s;
    bool is_running;
};

// Not in order of age.
static const struct made made[JOBS] = {
    {"c", 1, 100, 300, false}, {"a", 1, 100, 100, false}, {"r", 1, 500, 50, true},
    {"d", 2, 100, 400, false}, {"b", 2, 100, 200, false}, {"s", 3, 10, 10, true},
};

struct retain_case {
    struct ft_retain_limits limits;
    const char *gone, *why;
};

static const struct retain_case cases[] = {
    {{0, 0, 0}, "", "no limit"},
    {{700 * NS, 0, 0}, "ab", "older than that, but none that runs"},
    {{1 * NS, 0, 0}, "abcd", "all that is old"},
    {{0, 810, 0}, "a", "the oldest of all"},
    {{0, 750, 0}, "ab", "as many as have to go"},
    {{0, 1, 0}, "abcd", "what runs stays, whatever it takes"},
    {{0, 0, 650}, "a", "a user over its share loses its own"},
    {{0, 0, 150}, "abc", "each user for itself"},
    {{0, 0, 200}, "ac", "who is within its share loses nothing"},
    {{0, 0, 100}, "abc", "what is left is just the share"},
    {{700 * NS, 600, 0}, "abcd", "age first, then size"},
    {{0, 700, 650}, "abc", "shares first, then all"},
};

static void test_the_oldest_jobs_over_a_limit_go(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ft_spool_list list = {.jobs = NULL};
        char gone[JOBS + 1] = "";
        for (size_t j = 0; j < JOBS; j++) {
            struct ft_spool_job *job = ft_spool_add(&list);
            assert_non_null(job);
            *job = (struct ft_spool_job){.uid = made[j].uid,
                                         .bytes = made[j].bytes,
                                         .newest_ns = made[j].written_s * NS,
                                         .is_running = made[j].is_running};
            snprintf(job->folder, sizeof(job->folder), "%s", made[j].name);
        }
        size_t count = ft_retain_choose(&list, &cases[i].limits, NOW_S * NS);
        assert_int_equal(list.count, JOBS);
        for (size_t j = 0; j < count; j++)
            strcat(gone, list.jobs[j].folder);
        if (strcmp(gone, cases[i].gone) != 0)
            fail_msg("%s: %s instead of %s", cases[i].why, gone, cases[i].gone);
        for (size_t j = 0; j < JOBS; j++)
            assert_non_null(ft_spool_find(&list, made[j].uid, made[j].name));
        ft_spool_list_fini(&list);
    }
}

static void test_nothing_goes_of_nothing(void **state)
{
    struct ft_spool_list list = {.jobs = NULL};
    const struct ft_retain_limits limits = {.age_ns = 1, .bytes_all = 1, .bytes_of_one = 1};
    (void)state;
    assert_int_equal(ft_retain_choose(&list, &limits, NOW_S * NS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_oldest_jobs_over_a_limit_go),
        cmocka_unit_test(test_nothing_goes_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
