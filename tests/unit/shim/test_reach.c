// SPDX-License-Identifier: MIT
#include "client/shim/reach.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

/* Two pages of text; the one behind them may not be read. */
static char *pages(void)
{
    char *from = mmap(NULL, 3 * FT_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(from, MAP_FAILED);
    memset(from, 'x', 2 * FT_PAGE_BYTES);
    assert_int_equal(mprotect(from + 2 * FT_PAGE_BYTES, FT_PAGE_BYTES, PROT_NONE), 0);
    return from;
}

static void bytes_are_in_reach_up_to_the_last_readable_one(void **state)
{
    (void)state;
    const char *end = pages() + 2 * FT_PAGE_BYTES;
    for (size_t n = 1; n < 5000; n += n < 20 ? 1 : 997) {
        struct ft_reach one = {0}, other = {0};
        assert_true(ft_reach_bytes(&one, end - n, n));
        assert_false(ft_reach_bytes(&one, end - n, n + 1));
        assert_false(ft_reach_bytes(&other, end - n, SIZE_MAX));
    }
}

static void nowhere_is_out_of_reach(void **state)
{
    (void)state;
    const uintptr_t places[] = {0, 1, 7, 8, 4095, UINTPTR_MAX, UINTPTR_MAX - 8, (uintptr_t)1 << 62};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct ft_reach reach = {0};
        assert_false(ft_reach_bytes(&reach, (const void *)places[i], 1));
        assert_false(ft_reach_text(&reach, (const char *)places[i], 10));
        assert_true(ft_reach_bytes(&reach, (const void *)places[i], 0));
    }
}

static void text_is_in_reach_where_it_ends_before_the_page_does(void **state)
{
    (void)state;
    char *end = pages() + 2 * FT_PAGE_BYTES;
    for (size_t n = 1; n < 5000; n += n < 20 ? 1 : 997) {
        struct ft_reach reach = {0};
        assert_false(ft_reach_text(&reach, end - n, SIZE_MAX));
        assert_true(ft_reach_text(&reach, end - n, n));
        end[-1] = 0;
        assert_true(ft_reach_text(&reach, end - n, SIZE_MAX));
        assert_int_equal(ft_length_most(end - n, SIZE_MAX), n - 1);
        end[-1] = 'x';
        assert_int_equal(ft_length_most(end - n, n), n);
        assert_int_equal(ft_length_most(end - n, n - 1), n - 1);
    }
}

static void nothing_is_asked_of_the_kernel_in_a_sandbox(void **state)
{
    (void)state;
    struct ft_reach reach = {0};
    ft_process.sandboxed = 1;
    assert_false(ft_reach_text(&reach, "text", 10));
    ft_process.sandboxed = 0;
    assert_true(ft_reach_text(&reach, "text", 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_in_reach_up_to_the_last_readable_one),
        cmocka_unit_test(nowhere_is_out_of_reach),
        cmocka_unit_test(text_is_in_reach_where_it_ends_before_the_page_does),
        cmocka_unit_test(nothing_is_asked_of_the_kernel_in_a_sandbox),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
