// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/shim/glob.h"

static const struct {
    const char *pattern, *path;
    int expected;
    const char *why;
} cases[] = {
    {"/data/*", "/data/a/b", 1, "a star is a whole tree"},
    {"/data/*", "/database", 0, "the slash before it counts"},
    {"/data/*", "/data/", 1, "a star may be empty"},
    {"*.h5", "/x/y.h5", 1, "a suffix anywhere"},
    {"*.h5", "/x/y.h5.tmp", 0, "the end counts"},
    {"/a?c", "/abc", 1, "one byte"},
    {"/a?c", "/ac", 0, "exactly one"},
    {"/[ab]x", "/bx", 1, "a set"},
    {"/[!ab]x", "/bx", 0, "a set negated"},
    {"/[^ab]x", "/cx", 1, "the other negation"},
    {"/[a-c]x", "/bx", 1, "a range"},
    {"/[]x]", "/]", 1, "a bracket first in a set is itself"},
    {"/[ab", "/[ab", 1, "an unclosed set is plain text"},
    {"/\\*", "/*", 1, "a backslash takes the star as it is"},
    {"/\\*", "/x", 0, "and only that"},
    {"*a*a*a*b", "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0, "many stars end soon"},
    {"", "/", 0, "nothing matches nothing"},
    {"/\xff*", "/\xff\xfe", 1, "any byte"},
};

static void each_glob_matches_as_documented(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ft_globs globs = {0};
        ft_globs_add(&globs, cases[i].pattern, strlen(cases[i].pattern));
        if (ft_globs_match(&globs, cases[i].path, strlen(cases[i].path)) != cases[i].expected)
            fail_msg("%s on %s: %s", cases[i].pattern, cases[i].path, cases[i].why);
    }
}

static void a_list_is_split_and_relative_globs_are_joined(void **state)
{
    (void)state;
    struct ft_globs globs = {0};
    ft_globs_add_list(&globs, "/one:here/*::*.c");
    assert_int_equal(globs.count, 3);
    assert_memory_equal(globs.entries[0].bytes, "/one", 4);
    assert_int_equal(globs.entries[1].bytes[0], '/');
    assert_memory_equal(globs.entries[1].bytes + globs.entries[1].n - 7, "/here/*", 7);
    assert_memory_equal(globs.entries[2].bytes, "*.c", 3);
}

static void more_globs_than_there_is_room_for_are_left_out(void **state)
{
    (void)state;
    struct ft_globs globs = {0};
    for (int i = 0; i < FT_GLOBS_MAX + 5; i++)
        ft_globs_add(&globs, "/x", 2);
    assert_int_equal(globs.count, FT_GLOBS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_glob_matches_as_documented),
        cmocka_unit_test(a_list_is_split_and_relative_globs_are_joined),
        cmocka_unit_test(more_globs_than_there_is_room_for_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
