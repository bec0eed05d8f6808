// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/names.h"

static unsigned make(uint64_t *record, uint32_t id, uint32_t base, unsigned define, const char *text, size_t all,
                     size_t first, size_t here)
{
    unsigned slots = 1 + (unsigned)((here + FT_SLOT_BYTES - 1) / FT_SLOT_BYTES);
    memset(record, 0, (size_t)slots * FT_SLOT_BYTES);
    record[1] = id | (uint64_t)base << 32;
    record[2] = all | (uint64_t)first << 16 | (uint64_t)here << 32 | (uint64_t)define << 48;
    memcpy(record + FT_SLOT_WORDS, text + first, here);
    return slots;
}

static void define(struct ft_names *names, uint32_t id, uint32_t base, unsigned kind, const char *text)
{
    uint64_t record[FT_RECORD_SLOTS_MAX * FT_SLOT_WORDS];
    unsigned slots = make(record, id, base, kind, text, strlen(text), 0, strlen(text));
    assert_int_equal(ft_names_define(names, record, slots), 0);
}

static void assert_path(struct ft_names *names, uint32_t id, const char *path)
{
    struct ft_name *name = ft_names_find(names, id);
    assert_non_null(name);
    assert_true(ft_names_join(names, name));
    assert_int_equal(name->bytes_got, strlen(path));
    assert_memory_equal(name->text, path, strlen(path));
}

static void test_paths_are_joined_to_bases_whatever_the_order(void **state)
{
    struct ft_names names;
    (void)state;
    ft_names_init(&names);
    ft_names_set_cwd(&names, "/home/u", 7);
    define(&names, 20, 18, FT_DEFINE_PATH, "c");
    define(&names, 18, 17, FT_DEFINE_PATH, "./b");
    define(&names, 17, FT_FILE_CWD, FT_DEFINE_PATH, "a");
    define(&names, 21, FT_FILE_CWD, FT_DEFINE_PATH, "/etc//x");
    define(&names, 22, 0, FT_DEFINE_FD, "pipe:[1]");
    assert_path(&names, 20, "/home/u/a/b/c");
    assert_path(&names, 21, "/etc/x");
    assert_path(&names, 22, "pipe:[1]");
    ft_names_fini(&names);
}

static void test_a_missing_base_and_a_circle_of_bases_join_nothing(void **state)
{
    struct ft_names names;
    (void)state;
    ft_names_init(&names);
    define(&names, 30, 99, FT_DEFINE_PATH, "x");
    define(&names, 31, 32, FT_DEFINE_PATH, "x");
    define(&names, 32, 31, FT_DEFINE_PATH, "x");
    assert_false(ft_names_join(&names, ft_names_find(&names, 30)));
    assert_false(ft_names_join(&names, ft_names_find(&names, 31)));
    ft_names_fini(&names);
}

static void test_a_name_comes_in_parts_and_again(void **state)
{
    struct ft_names names;
    uint64_t record[FT_RECORD_SLOTS_MAX * FT_SLOT_WORDS];
    char text[1500];
    (void)state;
    memset(text, 'p', sizeof(text));
    text[0] = '/';
    ft_names_init(&names);
    for (int again = 0; again < 2; again++)
        for (size_t first = 0; first < sizeof(text); first += 500) {
            unsigned slots = make(record, 40, 0, FT_DEFINE_PATH, text, sizeof(text), first, 500);
            assert_int_equal(ft_names_define(&names, record, slots), 0);
        }
    assert_int_equal(ft_names_find(&names, 40)->bytes_got, sizeof(text));
    assert_memory_equal(ft_names_find(&names, 40)->text, text, sizeof(text));
    // A part without those before it makes no name.
    unsigned slots = make(record, 41, 0, FT_DEFINE_PATH, text, sizeof(text), 500, 500);
    assert_int_equal(ft_names_define(&names, record, slots), 0);
    assert_null(ft_names_find(&names, 41));
    ft_names_fini(&names);
}

static void test_lengths_that_contradict_each_other_are_corrupt(void **state)
{
    static const uint64_t words[][2] = {
        // all | first << 16 | here << 32, flags
        {10 | UINT64_C(11) << 16, 0},                    // begins behind its end
        {10 | UINT64_C(5) << 16 | UINT64_C(6) << 32, 0}, // ends behind its end
        {65535 | UINT64_C(33) << 32, 0},                 // more than its slots hold
        {65535 | UINT64_C(17) << 32, FT_DEFINE_INODE},   // the same, with an inode before it
    };
    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct ft_names names;
        uint64_t record[2 * FT_SLOT_WORDS] = {0, 50, words[i][0] | words[i][1] << 56, 0};
        ft_names_init(&names);
        assert_int_not_equal(ft_names_define(&names, record, 2), 0);
        ft_names_fini(&names);
    }
}

static void test_used_paths_go_and_descriptors_stay(void **state)
{
    struct ft_names names;
    (void)state;
    ft_names_init(&names);
    define(&names, 60, 0, FT_DEFINE_PATH, "/gone");
    define(&names, 61, 0, FT_DEFINE_PATH, "/kept");
    ft_names_note_used(&names, ft_names_find(&names, 60));
    ft_names_note_used(&names, ft_names_find(&names, 61));
    ft_names_find(&names, 61)->is_kept = true;
    ft_names_end_block(&names, 1);
    assert_null(ft_names_find(&names, 60));
    assert_non_null(ft_names_find(&names, 61));
    ft_names_fini(&names);
}

static void test_a_million_names_stay_within_bounds(void **state)
{
    struct ft_names names;
    uint32_t id = FT_FILE_FIRST;
    (void)state;
    ft_names_init(&names);
    for (uint32_t block = 1; block <= 50; block++) {
        for (int i = 0; i < 20000; i++, id++) {
            char text[32];
            snprintf(text, sizeof(text), "/tmp/file-%u", id);
            define(&names, id, 0, FT_DEFINE_FD, text);
            if (i % 2)
                ft_names_find(&names, id)->closed_in = block;
        }
        ft_names_end_block(&names, block);
        assert_true(names.count <= FT_NAMES_MAX);
    }
    assert_path(&names, id - 1, "/tmp/file-1000015");
    assert_true(ft_names_memory(&names) < (size_t)64 << 20);
    ft_names_fini(&names);
}

// Whatever is removed, what was probed past it is still found.
static void test_removing_names_loses_no_other(void **state)
{
    struct ft_names names;
    (void)state;
    ft_names_init(&names);
    for (uint32_t id = 16; id < 3000; id++)
        define(&names, id, 0, FT_DEFINE_PATH, "/x");
    for (uint32_t id = 16; id < 3000; id += 3)
        ft_names_note_used(&names, ft_names_find(&names, id));
    ft_names_end_block(&names, 1);
    for (uint32_t id = 16; id < 3000; id++)
        assert_int_equal(ft_names_find(&names, id) != NULL, (id - 16) % 3 != 0);
    ft_names_fini(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_are_joined_to_bases_whatever_the_order),
        cmocka_unit_test(test_a_missing_base_and_a_circle_of_bases_join_nothing),
        cmocka_unit_test(test_a_name_comes_in_parts_and_again),
        cmocka_unit_test(test_lengths_that_contradict_each_other_are_corrupt),
        cmocka_unit_test(test_used_paths_go_and_descriptors_stay),
        cmocka_unit_test(test_a_million_names_stay_within_bounds),
        cmocka_unit_test(test_removing_names_loses_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
