// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/paths.h"

struct join_case {
    const char *base, *name, *joined, *why;
};

static const struct join_case join_cases[] = {
    {"/a/b", "c", "/a/b/c", "a relative name"},
    {"/a/b", "/c", "/c", "an absolute name stands for itself"},
    {"/a/b/", "c/", "/a/b/c", "slashes at ends"},
    {"/a", "./b/./c", "/a/b/c", "dots go"},
    {"/a", "..//b", "/a/../b", "dot-dot stays: a may be a symlink"},
    {"/", "x", "/x", "the root"},
    {"/", ".", "/", "the root itself"},
    {"/a", "", "/a", "the base itself"},
    {"/a", ".", "/a", "the base itself, by dot"},
    {"", "b/c", "b/c", "no base"},
    {"", ".", ".", "no base, nothing left"},
    {"", "//", "/", "only slashes"},
    {"/a", "...", "/a/...", "three dots are a name"},
    {"/a", ".b", "/a/.b", "a hidden name"},
    {"rel", "x", "rel/x", "a base that is relative itself"},
    {"/a\nb", "\xff\x01", "/a\nb/\xff\x01", "any bytes"},
};

static void test_names_are_joined_to_their_base(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(join_cases) / sizeof(join_cases[0]); i++) {
        const struct join_case *one = &join_cases[i];
        char out[64];
        bool is_cut = false;
        size_t bytes =
            ft_paths_join(out, sizeof(out), one->base, strlen(one->base), one->name, strlen(one->name), &is_cut);
        if (bytes != strlen(one->joined) || memcmp(out, one->joined, bytes) != 0 || is_cut)
            fail_msg("%s: %.*s", one->why, (int)bytes, out);
    }
}

static void test_a_name_that_does_not_fit_is_a_marked_prefix(void **state)
{
    char out[8];
    bool is_cut = false;
    (void)state;
    assert_int_equal(ft_paths_join(out, sizeof(out), "/abc", 4, "defgh", 5, &is_cut), 8);
    assert_memory_equal(out, "/abc/def", 8);
    assert_true(is_cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_joined_to_their_base),
        cmocka_unit_test(test_a_name_that_does_not_fit_is_a_marked_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
