// SPDX-License-Identifier: MIT
#include "daemon/log.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND_NS INT64_C(1000000000)
#define START_NS (1000 * SECOND_NS)

static void a_site_speaks_once_a_minute_and_counts_what_it_left_out(void **state)
{
    static const struct {
        int64_t after_ns;
        bool may_speak;
        uint64_t left_out;
        const char *why;
    } looks[] = {
        {0, true, 0, "the first"},
        {0, false, 0, "at the same time"},
        {SECOND_NS, false, 1, "a second later"},
        {60 * SECOND_NS - 1, false, 2, "just before the minute is over"},
        {60 * SECOND_NS, true, 3, "the minute is over: those that were left out"},
        {60 * SECOND_NS + 1, false, 0, "from here on anew"},
        {119 * SECOND_NS, false, 1, "a minute is counted from the last that was said"},
        {120 * SECOND_NS, true, 2, "the next minute"},
        {100000 * SECOND_NS, true, 0, "nothing was left out meanwhile"},
    };
    struct ft_log_site site = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
        uint64_t left_out = 77;
        bool may_speak = ft_log_site_may_speak(&site, START_NS + looks[i].after_ns, &left_out);
        if (may_speak != looks[i].may_speak || left_out != looks[i].left_out)
            fail_msg("%d, %llu left out: %s", may_speak, (unsigned long long)left_out, looks[i].why);
    }
}

static void sites_do_not_silence_each_other(void **state)
{
    struct ft_log_site one = {0}, other = {0};
    uint64_t left_out;
    (void)state;
    assert_true(ft_log_site_may_speak(&one, START_NS, &left_out));
    assert_false(ft_log_site_may_speak(&one, START_NS, &left_out));
    assert_true(ft_log_site_may_speak(&other, START_NS, &left_out));
    assert_int_equal(left_out, 0);
}

enum { THREADS = 4, LOOKS = 500000 };

struct looker {
    pthread_t thread;
    struct ft_log_site *site;
    pthread_barrier_t *start;
    uint64_t spoken, told;
};

static void *look_often(void *given)
{
    struct looker *looker = given;
    pthread_barrier_wait(looker->start);
    for (int64_t i = 0; i < LOOKS; i++) {
        uint64_t left_out;
        if (!ft_log_site_may_speak(looker->site, START_NS + i * SECOND_NS, &left_out))
            continue;
        looker->spoken++;
        looker->told += left_out;
    }
    return NULL;
}

static void threads_leave_none_uncounted(void **state)
{
    struct ft_log_site site = {0};
    struct looker lookers[THREADS] = {0};
    pthread_barrier_t start;
    uint64_t spoken = 0, told = 0, left_out;
    (void)state;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        lookers[i].site = &site;
        lookers[i].start = &start;
        assert_int_equal(pthread_create(&lookers[i].thread, NULL, look_often, &lookers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(lookers[i].thread, NULL);
        spoken += lookers[i].spoken;
        told += lookers[i].told;
    }
    pthread_barrier_destroy(&start);
    assert_true(ft_log_site_may_speak(&site, START_NS + 2 * LOOKS * SECOND_NS, &left_out));
    assert_true(spoken >= 1 && spoken <= LOOKS / 60 + 1);
    assert_int_equal(spoken + told + left_out, THREADS * LOOKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_site_speaks_once_a_minute_and_counts_what_it_left_out),
        cmocka_unit_test(sites_do_not_silence_each_other),
        cmocka_unit_test(threads_leave_none_uncounted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
