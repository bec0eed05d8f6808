// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "client/cli/analysis_touched.h"

enum { FILES = 200000, PROCESSES = 3 };

struct seen {
    uint32_t last;
    size_t count;
    const unsigned char *expected;
};

static void see(void *seen_untyped, uint32_t file)
{
    struct seen *seen = seen_untyped;
    assert_true(file < FILES && seen->expected[file]);
    assert_true(seen->count == 0 || file > seen->last);
    seen->last = file;
    seen->count++;
}

/* Adds `count` files of [from, from + width) in a scattered order, some of them more than once. */
static void add(struct ft_touched *touched, unsigned char *expected, size_t process, uint32_t from, uint32_t width,
                size_t count)
{
    uint32_t some[16];
    for (size_t i = 0; i < count; i += 16) {
        for (size_t k = 0; k < 16; k++) {
            some[k] = from + (uint32_t)((i + k) * 7919 % width);
            expected[process * FILES + some[k]] = 1;
        }
        ft_touched_add(touched, process, some, 16);
    }
}

static void test_each_file_of_a_process_is_told_once_and_in_order(void **state)
{
    (void)state;
    struct ft_touched touched;
    unsigned char *expected = calloc(PROCESSES, FILES);
    assert_non_null(expected);
    ft_touched_init(&touched, PROCESSES, FILES);
    add(&touched, expected, 0, 60000, 20000, 1600);   /* lists, on both sides of a border */
    add(&touched, expected, 2, 0, FILES, 320000);     /* bits */
    add(&touched, expected, 2, 130000, 4096, 100000); /* again */
    for (size_t p = 0; p < PROCESSES; p++) {
        struct seen seen = {.expected = expected + p * FILES};
        size_t count = 0;
        for (size_t f = 0; f < FILES; f++) {
            count += expected[p * FILES + f];
        }
        ft_touched_each(&touched, p, see, &seen);
        assert_int_equal(seen.count, count);
    }
    ft_touched_fini(&touched);
    free(expected);
}

/* The list becomes bits when the 4,097th comes. */
static void test_no_file_is_lost_where_a_list_becomes_bits(void **state)
{
    (void)state;
    for (uint32_t count = 4090; count < 4104; count++) {
        struct ft_touched touched;
        unsigned char *expected = calloc(1, FILES);
        struct seen seen = {.expected = expected};
        assert_non_null(expected);
        ft_touched_init(&touched, 1, FILES);
        for (uint32_t i = count; i-- > 0;) {
            uint32_t file = i * 3;
            expected[file] = 1;
            ft_touched_add(&touched, 0, &file, 1);
        }
        ft_touched_each(&touched, 0, see, &seen);
        assert_int_equal(seen.count, count);
        ft_touched_fini(&touched);
        free(expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_file_of_a_process_is_told_once_and_in_order),
        cmocka_unit_test(test_no_file_is_lost_where_a_list_becomes_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
