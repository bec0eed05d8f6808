// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/shim/glob.h"
#include "client/shim/shim.h"

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
    for (int i = 0; i < FT_SETTING_GLOBS_MAX + 5; i++)
        ft_globs_add(&globs, "/x", 2);
    assert_int_equal(globs.count, FT_SETTING_GLOBS_MAX);
}

static void components_that_name_nothing_are_taken_out(void **state)
{
    (void)state;
    static const struct {
        const char *path, *squeezed;
    } paths[] = {
        {"/a//b", "/a/b"},
        {"/a/./b", "/a/b"},
        {"/a/././/b/", "/a/b"},
        {"/a/.", "/a"},
        {"/", "/"},
        {"//", "/"},
        {"/./", "/"},
        {"/a/.b/..c", "/a/.b/..c"},
        {"/a/../b", "/a/../b"},
        {"*.h5", "*.h5"},
        {"/cwd/./data/*", "/cwd/data/*"},
    };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        char text[64];
        size_t n = strlen(paths[i].path);
        strcpy(text, paths[i].path);
        assert_int_equal(ft_glob_is_squeezed(text, n), strcmp(paths[i].path, paths[i].squeezed) == 0);
        n = ft_glob_squeeze(text, n);
        text[n] = 0;
        assert_string_equal(text, paths[i].squeezed);
    }
}

static void what_cannot_be_matched_as_it_is_meant_is_ignored_and_counted(void **state)
{
    (void)state;
    struct ft_globs globs = {0};
    static char list[3 * FT_PAGE_BYTES];
    memset(list, 'x', FT_PAGE_BYTES);
    memcpy(list + FT_PAGE_BYTES, ":/y::", 6);
    ft_process.settings_ignored = 0;
    ft_globs_add_list(&globs, list);
    assert_int_equal(ft_process.settings_ignored, 1);
    assert_int_equal(globs.count, 1);
    assert_memory_equal(globs.entries[0].bytes, "/y", 2);
    list[0] = '/';
    ft_globs_add_list(&globs, list);
    assert_int_equal(ft_process.settings_ignored, 2);
    assert_int_equal(globs.count, 2);
}

static void a_relative_glob_is_joined_to_a_long_working_directory_and_to_the_root(void **state)
{
    (void)state;
    char before[FT_PAGE_BYTES], folder[201] = "", long_cwd[FT_PAGE_BYTES];
    assert_non_null(getcwd(before, sizeof(before)));
    char top[] = "/tmp/flowtap-glob-XXXXXX";
    assert_non_null(mkdtemp(top));
    assert_int_equal(chdir(top), 0);
    memset(folder, 'd', 200);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mkdir(folder, 0700), 0);
        assert_int_equal(chdir(folder), 0);
    }
    struct ft_globs globs = {0};
    assert_non_null(getcwd(long_cwd, sizeof(long_cwd)));
    ft_globs_add_list(&globs, "./x*");
    assert_int_equal(globs.count, 1);
    assert_int_equal(globs.entries[0].n, strlen(long_cwd) + 3);
    assert_memory_equal(globs.entries[0].bytes, long_cwd, strlen(long_cwd));
    assert_memory_equal(globs.entries[0].bytes + strlen(long_cwd), "/x*", 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(chdir(".."), 0);
        assert_int_equal(rmdir(folder), 0);
    }
    assert_int_equal(chdir("/"), 0);
    ft_globs_add_list(&globs, "x*");
    assert_int_equal(globs.entries[1].n, 3);
    assert_memory_equal(globs.entries[1].bytes, "/x*", 3);
    assert_int_equal(rmdir(top), 0);
    assert_int_equal(chdir(before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_glob_matches_as_documented),
        cmocka_unit_test(a_list_is_split_and_relative_globs_are_joined),
        cmocka_unit_test(components_that_name_nothing_are_taken_out),
        cmocka_unit_test(what_cannot_be_matched_as_it_is_meant_is_ignored_and_counted),
        cmocka_unit_test(a_relative_glob_is_joined_to_a_long_working_directory_and_to_the_root),
        cmocka_unit_test(more_globs_than_there_is_room_for_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
