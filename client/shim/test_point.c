// SPDX-License-Identifier: MIT
#include "client/shim/test_point.h"

#ifdef FT_TEST_POINTS

#include "client/shim/settings.h"
#include "client/shim/shim.h"
#include "client/shim/start.h"

static const char *const names[] = {
#define FT_POINT(name, what) [FT_TEST_POINT_##name] = #name,
#include "client/shim/test_points.def"
#undef FT_POINT
};

enum { POINT_COUNT = sizeof(names) / sizeof(names[0]) };

/* What the environment asks for; `point` is POINT_COUNT where it asks for nothing. */
static struct {
    int is_read;
    unsigned point;
    int signal;
    int32_t left, every;
} wish;

static int number(const char **text)
{
    int value = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++)
        value = value * 10 + (**text - '0');
    return value;
}

static void read_wish(void)
{
    wish.point = POINT_COUNT;
    wish.is_read = 1;
    const char *text = ft_settings_find(environ, "FLOWTAP_TEST_POINT");
    if (text == NULL)
        return;
    for (unsigned i = 0; i < POINT_COUNT; i++) {
        size_t n = ft_length(names[i]);
        if (!ft_has_prefix(text, names[i]) || text[n] != ':')
            continue;
        const char *rest = text + n + 1;
        wish.left = number(&rest);
        wish.signal = *rest == ':' ? (rest++, number(&rest)) : 0;
        wish.every = *rest == ':' ? (rest++, number(&rest)) : 0;
        wish.point = i;
    }
}

void ft_test_point_reach(enum ft_test_point point)
{
    if (!wish.is_read)
        read_wish();
    if (point != wish.point || __atomic_sub_fetch(&wish.left, 1, __ATOMIC_RELAXED) != 0)
        return;
    __atomic_store_n(&wish.left, wish.every, __ATOMIC_RELAXED);
    ft_sys(SYS_tgkill, ft_sys(SYS_getpid), ft_sys(SYS_gettid), wish.signal);
}

#endif
