// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/stored_name.h"

static const struct ft_stored_name names[] = {
    {0},
    {.uid = 1000, .gid = 100, .pid = 4711, .start_time = 815, .pidfd_id = 12, .segment = 99, .folder = 7},
    {.uid = UINT32_MAX,
     .gid = UINT32_MAX,
     .pid = UINT32_MAX,
     .start_time = UINT64_MAX,
     .pidfd_id = UINT64_MAX,
     .segment = UINT64_MAX,
     .folder = UINT64_MAX},
};

static void test_a_name_comes_back_as_it_was_and_is_one_that_the_manager_takes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char text[FT_STORED_NAME_BYTES], again[FT_STORED_NAME_BYTES];
        struct ft_stored_name back;
        ft_stored_name_print(&names[i], text);
        assert_true(strlen(text) < sizeof(text) - 1 && strlen(text) <= 255 && !strchr(text, ':'));
        assert_int_equal(ft_stored_name_parse(text, &back), 0);
        assert_true(back.uid == names[i].uid && back.gid == names[i].gid && back.pid == names[i].pid);
        assert_true(back.start_time == names[i].start_time && back.pidfd_id == names[i].pidfd_id);
        assert_true(back.segment == names[i].segment && back.folder == names[i].folder);
        ft_stored_name_print(&back, again);
        assert_string_equal(again, text);
    }
}

static void test_what_is_not_exactly_a_name_of_ours_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "stored",
        "flowtap1-",
        "flowtap1-1-2-3-4-5-6",
        "flowtap1-1-2-3-4-5-6-7-",
        "flowtap1-1-2-3-4-5-6-7-8",
        "flowtap1-1-2-3-4-5-6-7 ",
        "flowtap1- 1-2-3-4-5-6-7",
        "flowtap1-0x1-2-3-4-5-6-7",
        "flowtap1-01-2-3-4-5-6-7",
        "flowtap1--1-2-3-4-5-6-7",
        "flowtap1-1ffffffff-2-3-4-5-6-7",
        "flowtap2-1-2-3-4-5-6-7",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct ft_stored_name name = {.pid = 42};
        if (ft_stored_name_parse(texts[i], &name) == 0)
            fail_msg("\"%s\" passes for a name", texts[i]);
        assert_int_equal(name.pid, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_comes_back_as_it_was_and_is_one_that_the_manager_takes),
        cmocka_unit_test(test_what_is_not_exactly_a_name_of_ours_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
