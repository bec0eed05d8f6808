// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "client/cli/analysis_touched.h"

enum { FILES = 200000, PROCESSES = 4 };

/* Takes what a process touched: exactly what is expected, each once. */
static void check(struct ft_touched *touched, size_t process, unsigned char *expected)
{
    size_t count, wanted = 0;
    for (size_t f = 0; f < FILES; f++) {
        wanted += expected[f];
    }
    uint32_t *files = ft_touched_take(touched, process, &count);
    assert_int_equal(count, wanted);
    for (size_t i = 0; i < count; i++) {
        assert_true(files[i] < FILES && expected[files[i]]);
        expected[files[i]] = 0;
    }
    free(files);
    assert_null(ft_touched_take(touched, process, &count));
    assert_int_equal(count, 0);
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

static void test_each_file_of_a_process_is_told_once(void **state)
{
    (void)state;
    struct ft_touched touched;
    unsigned char *expected = calloc(PROCESSES, FILES);
    assert_non_null(expected);
    ft_touched_init(&touched, PROCESSES, FILES);
    add(&touched, expected, 0, 60000, 20000, 1600);   /* a list */
    add(&touched, expected, 2, 0, FILES, 320000);     /* bits */
    add(&touched, expected, 2, 130000, 4096, 100000); /* again */
    add(&touched, expected, 3, 500, 64, 100000);      /* a list of 64 */
    assert_null(touched.sets[3].bits);
    assert_in_range(touched.sets[3].space, 64, 512); /* not of all that was added */
    for (size_t p = 0; p < PROCESSES; p++) {
        check(&touched, p, expected + p * FILES);
    }
    ft_touched_fini(&touched);
    free(expected);
}

/* A list of 200,000 files becomes bits when the 4,097th comes. */
static void test_no_file_is_lost_where_a_list_becomes_bits(void **state)
{
    (void)state;
    for (uint32_t count = 4090; count < 4104; count++) {
        struct ft_touched touched;
        unsigned char *expected = calloc(1, FILES);
        assert_non_null(expected);
        ft_touched_init(&touched, 1, FILES);
        for (uint32_t i = count; i-- > 0;) {
            uint32_t file = i * 3;
            expected[file] = 1;
            ft_touched_add(&touched, 0, &file, 1);
        }
        assert_int_equal(touched.sets[0].bits != NULL, count > 4096);
        check(&touched, 0, expected);
        ft_touched_fini(&touched);
        free(expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_file_of_a_process_is_told_once),
        cmocka_unit_test(test_no_file_is_lost_where_a_list_becomes_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
