// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/map.h"

enum { MANY = 20000 };

static void every_key_keeps_its_first_value(void **state)
{
    (void)state;
    struct ft_map map;
    ft_map_init(&map);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < MANY; i++) {
            char key[32];
            bool is_new;
            int length = snprintf(key, sizeof(key), "%s%u", i % 3 ? "/a/longer/path/" : "", i);
            assert_int_equal(ft_map_intern(&map, key, (size_t)length, i + (uint32_t)round * MANY, &is_new), i);
            assert_true(is_new == (round == 0));
        }
    }
    assert_int_equal(map.count, MANY);
    ft_map_fini(&map);
}

static void keys_may_be_empty_or_hold_any_byte(void **state)
{
    (void)state;
    struct ft_map map;
    uint32_t value = 0;
    ft_map_init(&map);
    assert_false(ft_map_find(&map, "", 0, &value));
    ft_map_intern(&map, "", 0, 1, NULL);
    ft_map_intern(&map, "\0", 1, 2, NULL);
    ft_map_intern(&map, "\0\0", 2, 3, NULL);
    assert_true(ft_map_find(&map, "\0", 1, &value));
    assert_int_equal(value, 2);
    assert_true(ft_map_find(&map, "", 0, &value));
    assert_int_equal(value, 1);
    assert_false(ft_map_find(&map, "\0\0\0", 3, &value));
    ft_map_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_keeps_its_first_value),
        cmocka_unit_test(keys_may_be_empty_or_hold_any_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
