// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/cli/doctor.h"

static void a_pattern_covers_another_only_where_that_is_certain(void **state)
{
    (void)state;
    static const struct {
        const char *outer, *inner;
        bool covers;
    } table[] = {
        {"*", "/data/*.h5", true},
        {"/*", "/data/*.h5", true},
        {"/data/*", "/data/*.h5", true},
        {"/data/*", "/data/a", true},
        {"/data/*", "/data/[ab]?", true},
        {"*.h5", "/data/*.h5", true},
        {"/a*b*c", "/axbyc", true},
        {"/a*b", "/a\\b", true},
        {"/data/?", "/data/?", true},
        {"/data/*.h5", "/data/*", false},
        {"/data/*", "/database", false},
        {"/data", "/data/*", false},
        {"/x?", "/x*", false},
        {"*b*", "/[abc]", false},
        {"*]c", "/[ab]c", false},
        {"/[ab]", "/a", false}, /* it is covered, but that is not looked into */
        {"/*", "*.h5", true},   /* every path begins with a slash */
        {"/", "*.h5", false},
        {"", "/a", false},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (ft_doctor_glob_covers(table[i].outer, table[i].inner) != table[i].covers) {
            fail_msg("'%s' and '%s'", table[i].outer, table[i].inner);
        }
    }
}

static void the_distance_of_two_names_counts_changed_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        unsigned distance;
    } table[] = {
        {"FLOWTAP", "FLOWTAP", 0},
        {"FLOWTAP", "flowtap", 0},
        {"FLOTAP", "FLOWTAP", 1},
        {"FLOWTAPP", "FLOWTAP", 1},
        {"FLOWTAB", "FLOWTAP", 1},
        {"FLOWTPA", "FLOWTAP", 2},
        {"FLOWTAP_MODE", "FLOWTAP_JOB", 3},
        {"", "FLOWTAP", 3},
        {"FLOWTAP", "", 3},
        {"", "", 0},
        {"FLOWTAP_TAG", "FLOWTAP_TAGS", 1},
        {"PATH", "FLOWTAP", 3},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        unsigned distance = ft_doctor_distance(table[i].a, table[i].b, 2);
        if (distance != table[i].distance) {
            fail_msg("'%s' and '%s': %u", table[i].a, table[i].b, distance);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_covers_another_only_where_that_is_certain),
        cmocka_unit_test(the_distance_of_two_names_counts_changed_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
