// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/cli/analysis_reuse.h"

enum { A, B, C, D, PATHS_MAX = 4, MARKS_MAX = 4 };

static const char *const names[] = {"/a", "/b", "/c", "/a (deleted)"};

struct reuse_case {
    const char *why;
    struct {
        uint32_t path;
        int64_t first;
    } paths[PATHS_MAX];
    size_t path_count;
    struct ft_reuse_mark marks[MARKS_MAX];
    size_t mark_count;
    uint32_t roots[PATHS_MAX];
};

static const struct reuse_case cases[] = {
    {"hard links", {{A, 1}, {B, 5}}, 2, {{0}}, 0, {0, 0}},
    {"removed, then used again", {{A, 1}, {B, 5}}, 2, {{A, true, 3}}, 1, {0, 1}},
    {"again and again", {{A, 1}, {B, 5}, {C, 9}}, 3, {{A, true, 3}, {B, true, 7}}, 2, {0, 1, 2}},
    {"removed before: another file then", {{A, 4}, {B, 5}}, 2, {{A, true, 3}}, 1, {0, 0}},
    {"removed after", {{A, 1}, {B, 5}}, 2, {{A, true, 7}}, 1, {0, 0}},
    {"renamed", {{A, 1}, {B, 5}}, 2, {{B, false, 4}, {B, true, 4}}, 2, {0, 0}},
    {"linked, then the first name removed", {{A, 1}, {B, 5}}, 2, {{B, false, 2}, {A, true, 3}}, 2, {0, 0}},
    {"another file was renamed onto it", {{A, 1}, {B, 5}}, 2, {{A, true, 3}, {A, false, 3}}, 2, {0, 1}},
    {"still open without a name", {{A, 1}, {D, 5}}, 2, {{A, true, 3}}, 1, {0, 0}},
    {"a link of the second file", {{A, 1}, {B, 5}, {C, 9}}, 3, {{A, true, 3}, {C, false, 8}}, 2, {0, 1, 1}},
};

static void an_inode_is_one_file_until_its_name_is_removed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct reuse_case *c = &cases[i];
        struct ft_reuse_path paths[PATHS_MAX] = {0};
        struct ft_reuse_marks marks = {0};
        for (size_t p = 0; p < c->path_count; p++) {
            paths[p] = (struct ft_reuse_path){
                .path = FT_BYTES(names[c->paths[p].path]), .path_id = c->paths[p].path, .first_ns = c->paths[p].first};
        }
        for (size_t m = 0; m < c->mark_count; m++) {
            ft_reuse_marks_add(&marks, c->marks[m]);
        }
        ft_reuse_marks_sort(&marks);
        ft_reuse_find(paths, c->path_count, &marks);
        for (size_t p = 0; p < c->path_count; p++) {
            if (paths[p].root != c->roots[p]) {
                fail_msg("%s: path %zu is with %u", c->why, p, paths[p].root);
            }
        }
        ft_reuse_marks_fini(&marks);
    }
}

/* Born at 9 s; both names in use before and after the first one went. */
static uint32_t root_of_removed_at(int64_t removed_ns, uint64_t birth, bool is_exact)
{
    const int64_t second_ns = 1000000000;
    struct ft_reuse_path paths[] = {
        {.path = FT_BYTES("/a"), .path_id = A, .birth = birth, .is_exact = is_exact, .first_ns = 9 * second_ns},
        {.path = FT_BYTES("/b"), .path_id = B, .birth = birth, .is_exact = is_exact, .first_ns = 19 * second_ns},
    };
    struct ft_reuse_marks marks = {0};
    ft_reuse_marks_add(&marks, (struct ft_reuse_mark){.path_id = A, .is_removed = true, .ts_ns = removed_ns});
    ft_reuse_find(paths, 2, &marks);
    ft_reuse_marks_fini(&marks);
    return paths[1].root;
}

static void a_removal_long_after_the_birth_took_one_name_of_several(void **state)
{
    (void)state;
    assert_int_equal(root_of_removed_at(INT64_C(12000000000), UINT64_C(9000000000), false), 0);
    assert_int_equal(root_of_removed_at(INT64_C(9000000001), UINT64_C(9000000000), false), 1);
    assert_int_equal(root_of_removed_at(INT64_C(9000000001), UINT64_C(9000000000), true), 0);
    assert_int_equal(root_of_removed_at(INT64_C(12000000000), 0, false), 1);
    assert_int_equal(root_of_removed_at(INT64_C(12000000000), 1000, false), 0);
}

static void calls_that_change_names_are_known(void **state)
{
    (void)state;
    assert_int_equal(ft_reuse_kind_of("unlinkat"), FT_REUSE_UNLINK);
    assert_int_equal(ft_reuse_kind_of("rename"), FT_REUSE_RENAME);
    assert_int_equal(ft_reuse_kind_of("renameat2"), FT_REUSE_BY_FLAGS);
    assert_int_equal(ft_reuse_kind_of("linkat"), FT_REUSE_LINK);
    assert_int_equal(ft_reuse_kind_of("removexattr"), FT_REUSE_NONE);
    assert_int_equal(ft_reuse_kind_of("symlink"), FT_REUSE_NONE);
    assert_int_equal(ft_reuse_kind_of("read"), FT_REUSE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_inode_is_one_file_until_its_name_is_removed),
        cmocka_unit_test(a_removal_long_after_the_birth_took_one_name_of_several),
        cmocka_unit_test(calls_that_change_names_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
