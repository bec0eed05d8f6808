// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/cli/analysis_diff.h"

static void a_change_is_called_by_its_larger_part(void **state)
{
    (void)state;
    static const struct {
        struct ft_sum a, b;
        enum ft_diff_change change;
        int64_t by_count_ns, by_speed_ns;
        const char *why;
    } cases[] = {
        {{10, 5, 100}, {10, 5, 100}, FT_DIFF_SAME, 0, 0, "nothing differs"},
        {{0, 0, 0}, {3, 5, 70}, FT_DIFF_APPEARED, 70, 0, "A has none"},
        {{3, 5, 70}, {0, 0, 0}, FT_DIFF_VANISHED, -70, 0, "B has none"},
        {{0, 0, 0}, {0, 0, 0}, FT_DIFF_SAME, 0, 0, "neither has one"},
        {{10, 0, 100}, {20, 0, 210}, FT_DIFF_GREW, 100, 10, "twice as many, hardly slower"},
        {{20, 0, 200}, {10, 0, 110}, FT_DIFF_SHRANK, -100, 10, "half as many, hardly slower"},
        {{10, 0, 100}, {11, 0, 220}, FT_DIFF_SLOWED, 10, 110, "as many, each takes twice as long"},
        {{10, 0, 200}, {11, 0, 110}, FT_DIFF_SPED_UP, 20, -110, "as many, each takes half as long"},
        {{10, 5, 100}, {10, 9, 100}, FT_DIFF_GREW, 0, 0, "more bytes alone"},
        {{10, 9, 100}, {10, 5, 100}, FT_DIFF_SHRANK, 0, 0, "fewer bytes alone"},
        {{10, 0, 0}, {20, 0, 0}, FT_DIFF_GREW, 0, 0, "calls that take no time"},
        {{1, 0, UINT64_MAX},
         {UINT64_MAX, 0, UINT64_MAX},
         FT_DIFF_SPED_UP,
         INT64_MAX / 4,
         -(INT64_MAX / 4),
         "no overflow"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ft_diff_row row = {.of = {cases[i].a, cases[i].b}};
        ft_diff_judge(&row);
        if (cases[i].a.time_ns == UINT64_MAX) {
            continue; /* which part is larger is chance there: it must only come to an end */
        }
        if (row.change != cases[i].change || row.by_count_ns != cases[i].by_count_ns ||
            row.by_speed_ns != cases[i].by_speed_ns) {
            fail_msg("%s: %s, %lld and %lld", cases[i].why, ft_diff_change_name(row.change), (long long)row.by_count_ns,
                     (long long)row.by_speed_ns);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_change_is_called_by_its_larger_part)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
