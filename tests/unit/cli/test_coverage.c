// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/cli/analysis_coverage.h"

#define NONE FT_COVERAGE_NONE
enum { IMAGES_MAX = 6 };

struct coverage_case {
    const char *why;
    size_t count;
    struct ft_coverage_image images[IMAGES_MAX]; /* parent, is_exec, is_known, end, kernel, traced */
    uint64_t traced, kernel;
    size_t tasks, known;
};

static const struct coverage_case cases[] = {
    {"no process", 0, {{0}}, 0, 0, 0, 0},
    {"one process", 1, {{NONE, false, true, 10, 100, 90}}, 90, 100, 1, 1},
    {"one whose counters nobody read is left out", 1, {{NONE, false, false, 10, 0, 90}}, 0, 0, 1, 0},
    {"parent and child", 2, {{NONE, false, true, 20, 100, 90}, {0, false, true, 10, 50, 45}}, 135, 150, 2, 2},
    {"a child without counters is in its parent's",
     2,
     {{NONE, false, true, 20, 150, 90}, {0, false, false, 10, 0, 45}},
     135,
     150,
     2,
     1},
    {"but not one that outlived its parent",
     2,
     {{NONE, false, true, 10, 100, 90}, {0, false, false, 20, 0, 45}},
     90,
     100,
     2,
     1},
    {"nor one that still runs", 2, {{NONE, false, true, 10, 100, 90}, {0, false, false, 0, 0, 45}}, 90, 100, 2, 1},
    {"a grandchild is in its grandparent's where none has counters between",
     3,
     {{NONE, false, true, 30, 200, 90}, {0, false, false, 20, 0, 45}, {1, false, false, 10, 0, 50}},
     185,
     200,
     3,
     1},
    {"images of one pid add up", 2, {{NONE, false, true, 5, 40, 30}, {0, true, true, 10, 60, 60}}, 90, 100, 1, 1},
    {"the image that waits holds the child of one before",
     3,
     {{NONE, false, false, 5, 0, 30}, {0, true, true, 20, 80, 50}, {0, false, false, 10, 0, 20}},
     70,
     80,
     2,
     1},
    {"a circle of parents ends", 2, {{1, false, false, 10, 0, 1}, {0, false, false, 10, 0, 1}}, 0, 0, 2, 0},
    {"a circle of execs ends", 2, {{1, true, true, 10, 7, 1}, {0, true, true, 10, 7, 1}}, 1, 7, 1, 1},
};

static void like_is_compared_with_like(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ft_coverage found;
        ft_coverage_find(cases[i].images, cases[i].count, &found);
        if (found.traced_bytes != cases[i].traced || found.kernel_bytes != cases[i].kernel ||
            found.tasks != cases[i].tasks || found.known_tasks != cases[i].known) {
            fail_msg("%s: traced %llu, kernel %llu, %zu tasks, %zu known", cases[i].why,
                     (unsigned long long)found.traced_bytes, (unsigned long long)found.kernel_bytes, found.tasks,
                     found.known_tasks);
        }
    }
}

static void a_damaged_circle_of_execs_does_not_hang(void **state)
{
    (void)state;
    const struct coverage_case *circle = &cases[sizeof(cases) / sizeof(cases[0]) - 1];
    struct ft_coverage found;
    ft_coverage_find(circle->images, circle->count, &found);
    assert_true(found.tasks <= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(like_is_compared_with_like),
        cmocka_unit_test(a_damaged_circle_of_execs_does_not_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
