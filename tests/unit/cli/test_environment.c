// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "client/cli/run_environment.h"

#define LIB "/opt/flowtap/lib/libflowtap-preload.so"

static void the_preload_is_merged_and_never_overwritten(void **state)
{
    (void)state;
    static const struct {
        const char *why, *old, *merged;
    } cases[] = {
        {"nothing was there", NULL, LIB},
        {"empty", "", LIB},
        {"ours comes first", "/lib/fakeroot.so", LIB ":/lib/fakeroot.so"},
        {"spaces separate too", "a.so b.so", LIB ":a.so:b.so"},
        {"not named twice", "a.so:" LIB, LIB ":a.so"},
        {"a sanitizer stays first", "a.so:/usr/lib/libasan.so.8", "/usr/lib/libasan.so.8:" LIB ":a.so"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *merged = ft_environment_preload(cases[i].old, LIB);
        assert_string_equal(merged, cases[i].merged);
        free(merged);
    }
}

static void a_variable_is_set_joined_and_removed(void **state)
{
    (void)state;
    char a[] = "A=1", b[] = "AB=2", a_again[] = "A=3", *from[] = {a, b, a_again, NULL};
    const char *words[] = {"x", "y"};
    struct ft_strings list = {.items = words, .count = 2}, none = {0};
    struct ft_environment environment;
    ft_environment_init(&environment, from);
    ft_environment_set(&environment, "A", "9");
    assert_int_equal(environment.count, 2);
    assert_string_equal(ft_environment_get(&environment, "A"), "9");
    assert_string_equal(ft_environment_get(&environment, "AB"), "2");
    ft_environment_join(&environment, "A", &list, ':');
    assert_string_equal(ft_environment_get(&environment, "A"), "9:x:y");
    ft_environment_join(&environment, "NEW", &list, ',');
    assert_string_equal(ft_environment_get(&environment, "NEW"), "x,y");
    ft_environment_join(&environment, "OTHER", &none, ',');
    assert_null(ft_environment_get(&environment, "OTHER"));
    ft_environment_set(&environment, "AB", NULL);
    assert_null(ft_environment_get(&environment, "AB"));
    assert_null(environment.items[environment.count]);
    ft_environment_fini(&environment);
}

static void unloading_leaves_what_others_put_there(void **state)
{
    (void)state;
    char *rest = ft_environment_unload("a.so:" LIB ":b.so", LIB), *nothing = ft_environment_unload(LIB, LIB);
    assert_string_equal(rest, "a.so:b.so");
    assert_null(nothing);
    free(rest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_preload_is_merged_and_never_overwritten),
        cmocka_unit_test(a_variable_is_set_joined_and_removed),
        cmocka_unit_test(unloading_leaves_what_others_put_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
