// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "daemon/daemon.h"

#define SECOND_NS INT64_C(1000000000)

// How many looks there are in that many seconds; each is over before the next.
static int looks_in(struct ft_daemon *daemon, int64_t *now_ns, int seconds, bool is_wanted)
{
    int looks = 0;
    for (int i = 0; i < seconds; i++) {
        if (is_wanted)
            ft_space_want(daemon);
        *now_ns += SECOND_NS;
        ft_space_tick(daemon, *now_ns);
        looks += daemon->space.is_running;
        uv_run(&daemon->loop, UV_RUN_DEFAULT);
        assert_false(daemon->space.is_running);
    }
    return looks;
}

static void the_disk_is_looked_at_for_who_asks(void **state)
{
    (void)state;
    for (int is_private = 0; is_private < 2; is_private++) {
        struct ft_daemon *daemon = calloc(1, sizeof(*daemon));
        char here[] = ".";
        assert_non_null(daemon);
        daemon->config.spool_dir = here;
        daemon->config.private = is_private;
        assert_int_equal(uv_loop_init(&daemon->loop), 0);
        ft_space_init(daemon);
        assert_true(daemon->space.is_known);
        int64_t now_ns = ft_clock_mono_ns();
        assert_int_equal(looks_in(daemon, &now_ns, 50, false), 0);
        assert_int_equal(looks_in(daemon, &now_ns, 3, true), 3);
        assert_int_equal(looks_in(daemon, &now_ns, 600, false), is_private ? 0 : 10);
        assert_int_equal(uv_loop_close(&daemon->loop), 0);
        free(daemon);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_disk_is_looked_at_for_who_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
