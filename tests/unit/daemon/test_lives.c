// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/lives.h"
#include "proto/birth.h"
#include "proto/ring.h"

enum { DEVICE = 8 << 1, INODE = 77, A = 5, B = 6, C = 100000 };

#define SECOND INT64_C(1000000000)

static struct ft_lives lives;
static int64_t now_ns;
static uint64_t birth; // of what is opened

static int set_up(void **state)
{
    (void)state;
    ft_lives_begin(&lives, 1, 0);
    now_ns = 1000 * SECOND;
    birth = (uint64_t)now_ns;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ft_lives_fini(&lives);
    return 0;
}

static struct ft_lives_file open_at(uint32_t path, uint64_t inode, bool is_new)
{
    struct ft_lives_file file = {.device = DEVICE,
                                 .inode = inode,
                                 .birth = ft_lives_opened(&lives, DEVICE, inode, birth, is_new, now_ns),
                                 .kind = FT_FILE_WIRE_REGULAR};
    ft_lives_set(&lives, path, &file, ++now_ns);
    return file;
}

static void file_of_a_path_is_what_was_opened_last(void **state)
{
    (void)state;
    assert_null(ft_lives_find(&lives, A, now_ns));
    open_at(A, INODE, false);
    int64_t then_ns = now_ns;
    assert_int_equal(ft_lives_find(&lives, A, now_ns)->inode, INODE);
    now_ns += 5;
    open_at(A, INODE + 1, false);
    assert_int_equal(ft_lives_find(&lives, A, now_ns)->inode, INODE + 1);
    assert_null(ft_lives_find(&lives, A, then_ns)); // a call before: who knows
    ft_lives_unlink(&lives, A, ++now_ns);
    assert_null(ft_lives_find(&lives, A, now_ns));
    struct ft_lives_file late = {.device = DEVICE, .inode = INODE};
    ft_lives_set(&lives, A, &late, then_ns); // of a process that is drained late
    assert_null(ft_lives_find(&lives, A, now_ns));
}

static void paths_of_another_part_are_forgotten(void **state)
{
    (void)state;
    open_at(A, INODE, false);
    ft_lives_begin(&lives, 1, 0);
    assert_non_null(ft_lives_find(&lives, A, now_ns));
    ft_lives_begin(&lives, 2, 0);
    assert_null(ft_lives_find(&lives, A, now_ns));
}

static void a_number_that_is_free_is_another_file_next(void **state)
{
    (void)state;
    for (int with_birth = 0; with_birth < 2; with_birth++) {
        birth = with_birth ? birth : 0;
        for (uint64_t i = 0; i < 3; i++) {
            assert_int_equal(open_at(A, INODE + 1 - (uint64_t)with_birth, false).birth, birth + i);
            ft_lives_unlink(&lives, A, ++now_ns);
        }
    }
}

static void a_replaced_file_is_gone(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 6; i++) {
        struct ft_lives_file file = open_at(A, INODE + i % 2, false);
        assert_int_equal(file.birth, birth + i / 2);
        ft_lives_rename(&lives, &file, A, B, false, ++now_ns);
        assert_null(ft_lives_find(&lives, A, now_ns));
        assert_int_equal(ft_lives_find(&lives, B, now_ns)->birth, file.birth);
    }
}

static void an_old_file_may_have_other_names(void **state)
{
    (void)state;
    birth = (uint64_t)(now_ns - 10 * SECOND);
    open_at(A, INODE, false);
    ft_lives_unlink(&lives, A, ++now_ns);
    assert_int_equal(open_at(B, INODE, false).birth, birth);
}

static void a_known_link_keeps_it(void **state)
{
    (void)state;
    struct ft_lives_file file = open_at(A, INODE, false);
    ft_lives_link(&lives, &file, B, ++now_ns);
    ft_lives_unlink(&lives, A, ++now_ns);
    assert_int_equal(open_at(B, INODE, false).birth, birth);
    ft_lives_unlink(&lives, B, ++now_ns);
    assert_int_equal(open_at(B, INODE, false).birth, birth + 1);
}

static void exchanged_files_stay(void **state)
{
    (void)state;
    struct ft_lives_file a = open_at(A, INODE, false);
    open_at(B, INODE + 1, false);
    ft_lives_rename(&lives, &a, A, B, true, ++now_ns);
    assert_int_equal(ft_lives_find(&lives, A, now_ns)->inode, INODE + 1);
    assert_int_equal(ft_lives_find(&lives, B, now_ns)->inode, INODE);
    assert_int_equal(open_at(A, INODE + 1, false).birth, birth);
    assert_int_equal(open_at(B, INODE, false).birth, birth);
}

static void an_open_before_the_removal_is_of_the_file_before(void **state)
{
    (void)state;
    open_at(A, INODE, false);
    int64_t then_ns = now_ns;
    now_ns += 10;
    ft_lives_unlink(&lives, A, now_ns);
    assert_int_equal(ft_lives_opened(&lives, DEVICE, INODE, birth, false, then_ns), birth);
    assert_int_equal(open_at(A, INODE, false).birth, birth + 1);
    assert_int_equal(ft_lives_opened(&lives, DEVICE, INODE, birth, false, then_ns), birth);
}

static void what_makes_a_file_finds_a_new_one(void **state)
{
    (void)state;
    struct ft_lives_file file = open_at(A, INODE, true);
    ft_lives_link(&lives, &file, B, ++now_ns); // both go unseen
    assert_int_equal(open_at(A, INODE, true).birth, birth + 1);
    assert_int_equal(ft_lives_birth(&lives, DEVICE, INODE, birth, now_ns), birth + 1);
}

// Lies at A, is removed, and the next one with its number lies at B.
static uint64_t birth_of_a_successor(int64_t from_ns, bool is_new)
{
    int64_t after_ns = now_ns;
    now_ns = from_ns;
    open_at(A, INODE, false);
    ft_lives_unlink(&lives, A, ++now_ns);
    struct ft_lives_file file = open_at(B, INODE, is_new);
    now_ns = after_ns > now_ns ? after_ns : now_ns;
    return file.birth;
}

static void what_another_process_used_since_is_not_counted(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        ft_lives_fini(&lives);
        ft_lives_begin(&lives, 1, 0);
        int64_t from_ns = now_ns;
        now_ns += 10; // of a process that is drained early
        uint64_t others =
            way < 2 ? open_at(B, INODE, false).birth : ft_lives_birth(&lives, DEVICE, INODE, birth, now_ns);
        assert_int_equal(birth_of_a_successor(from_ns, way % 2), others);
        assert_int_equal(open_at(C, INODE, false).birth, others);
    }
}

static void an_exact_birth_is_not_counted(void **state)
{
    (void)state;
    birth = ft_birth_of_generation(birth, 7);
    assert_int_equal(birth_of_a_successor(now_ns, true), birth);
    assert_int_equal(ft_lives_birth(&lives, DEVICE, INODE, birth, now_ns), birth);
    struct ft_lives_file file = open_at(A, INODE, true);
    ft_lives_link(&lives, &file, B, ++now_ns);
    assert_int_equal(ft_lives_find(&lives, B, now_ns)->birth, birth);
    assert_int_equal(lives.inodes_room, 0);
}

static void a_renamed_folder_takes_what_is_below(void **state)
{
    (void)state;
    open_at(B, INODE, false);
    struct ft_lives_file folder = {.device = DEVICE, .inode = 3, .kind = FT_FILE_WIRE_DIRECTORY};
    ft_lives_rename(&lives, &folder, A, C, false, ++now_ns);
    assert_null(ft_lives_find(&lives, B, now_ns));
    assert_int_equal(ft_lives_find(&lives, C, now_ns)->inode, 3);
}

static void tables_do_not_grow_past_their_size(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < 5 * FT_LIVES_INODES_MAX; i++) {
        open_at(i, INODE + i, false);
        assert_int_equal(ft_lives_find(&lives, i, now_ns)->inode, INODE + i);
        ft_lives_unlink(&lives, i, ++now_ns);
    }
    assert_true(lives.paths_room <= FT_LIVES_PATHS_MAX && lives.inodes_room <= FT_LIVES_INODES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(file_of_a_path_is_what_was_opened_last, set_up, tear_down),
        cmocka_unit_test_setup_teardown(paths_of_another_part_are_forgotten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_number_that_is_free_is_another_file_next, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_replaced_file_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_old_file_may_have_other_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_known_link_keeps_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exchanged_files_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_open_before_the_removal_is_of_the_file_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_makes_a_file_finds_a_new_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_another_process_used_since_is_not_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_exact_birth_is_not_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_renamed_folder_takes_what_is_below, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tables_do_not_grow_past_their_size, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
