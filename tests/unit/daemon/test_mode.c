// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/mode.h"
#include "daemon/process.h"

struct list {
    const char *text;
    bool is_good;
};

static void a_list_of_user_modes_is_checked(void **state)
{
    static const struct list lists[] = {
        {"", true},
        {"root=off", true},
        {"root=off,7=profile", true},
        {"7=trace,", true},
        {"root", false},
        {"=off", false},
        {"root=OFF", false},
        {"root=off;7=trace", false},
        {"root=off,", true},
        {"root=off,,7=trace", false},
        {"root=offs", false},
        {"root = off, 7 =\ttrace ", true},
        {" =off", false},
        {"root=, 7=off", false},
        {"root=o ff", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        assert_int_equal(ft_mode_is_list(lists[i].text), lists[i].is_good);
}

static void a_users_mode_stands_in_place_of_the_sites(void **state)
{
    struct ft_daemon *daemon = *state;
    daemon->config.mode = (char *)(uintptr_t)"profile";
    assert_int_equal(
        ft_user_modes_make(&daemon->user_modes, "root=off, 1234 = trace,77= off,1234=off,no such user=off"), 0);
    assert_int_equal(ft_mode_of_user(daemon, 0), FT_MODE_OFF);
    assert_int_equal(ft_mode_of_user(daemon, 1234), FT_MODE_TRACE);
    assert_int_equal(ft_mode_of_user(daemon, 77), FT_MODE_OFF);
    assert_int_equal(ft_mode_of_user(daemon, 78), FT_MODE_PROFILE);
    assert_int_equal(daemon->user_modes.unknown, 1);
    ft_user_modes_fini(&daemon->user_modes);
    assert_int_equal(ft_mode_of_user(daemon, 0), FT_MODE_PROFILE);
}

static void numbers_beyond_uids_are_nobodys(void **state)
{
    struct ft_user_modes modes;
    (void)state;
    assert_int_equal(ft_user_modes_make(&modes, "4294967296=off,18446744073709551616=off"), 0);
    assert_int_equal(modes.unknown, 2);
    assert_int_equal(ft_user_modes_find(&modes, 0, FT_MODE_TRACE), FT_MODE_TRACE);
    ft_user_modes_fini(&modes);
}

struct wish {
    const char *mode, *environment;
    enum ft_mode wanted;
};

static void a_process_may_ask_for_less_not_for_more(void **state)
{
    static const struct wish wishes[] = {
        {"trace", "FLOWTAP_MODE=profile", FT_MODE_PROFILE},
        {"trace", "FLOWTAP_MODE=off", FT_MODE_OFF},
        {"trace", "FLOWTAP_MODE=trace", FT_MODE_TRACE},
        {"profile", "FLOWTAP_MODE=trace", FT_MODE_PROFILE},
        {"off", "FLOWTAP_MODE=trace", FT_MODE_OFF},
        {"trace", "FLOWTAP_MODE=nothing", FT_MODE_TRACE},
        {"profile", "A=b", FT_MODE_PROFILE},
    };
    struct ft_daemon *daemon = *state;
    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        struct ft_process process = {
            .environment = {.data = wishes[i].environment, .len = strlen(wishes[i].environment) + 1}};
        daemon->config.mode = (char *)(uintptr_t)wishes[i].mode;
        assert_int_equal(ft_mode_of_process(daemon, &process), wishes[i].wanted);
    }
}

static int make_daemon(void **state)
{
    *state = calloc(1, sizeof(struct ft_daemon));
    return *state ? 0 : -1;
}

static int free_daemon(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_of_user_modes_is_checked),
        cmocka_unit_test(a_users_mode_stands_in_place_of_the_sites),
        cmocka_unit_test(numbers_beyond_uids_are_nobodys),
        cmocka_unit_test(a_process_may_ask_for_less_not_for_more),
    };
    return cmocka_run_group_tests(tests, make_daemon, free_daemon);
}
