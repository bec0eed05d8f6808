// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "daemon/config.h"
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
    };
    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        assert_int_equal(ft_mode_is_list(lists[i].text), lists[i].is_good);
}

static void a_users_mode_stands_in_place_of_the_sites(void **state)
{
    struct ft_config config = {.mode = (char *)"profile", .user_modes = (char *)"root=off,1234=trace,77=off"};
    (void)state;
    assert_int_equal(ft_mode_of_user(&config, 0), FT_MODE_OFF);
    assert_int_equal(ft_mode_of_user(&config, 1234), FT_MODE_TRACE);
    assert_int_equal(ft_mode_of_user(&config, 77), FT_MODE_OFF);
    assert_int_equal(ft_mode_of_user(&config, 78), FT_MODE_PROFILE);
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
    (void)state;
    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        struct ft_config config = {.mode = (char *)wishes[i].mode, .user_modes = (char *)""};
        struct ft_process process = {
            .environment = {.data = wishes[i].environment, .len = strlen(wishes[i].environment) + 1}};
        assert_int_equal(ft_mode_of_process(&config, &process), wishes[i].wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_of_user_modes_is_checked),
        cmocka_unit_test(a_users_mode_stands_in_place_of_the_sites),
        cmocka_unit_test(a_process_may_ask_for_less_not_for_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
