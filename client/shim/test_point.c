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

enum { WISHES_MAX = 2 };

/* What the environment asks for; `point` is POINT_COUNT where it asks for nothing. */
static struct {
    unsigned point;
    int signal;
    int32_t left, every;
} wishes[WISHES_MAX];
static int is_read;

static int number(const char **text)
{
    int value = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++)
        value = value * 10 + (**text - '0');
    return value;
}

/* One wish; moves *text behind it. */
static void read_wish(const char **text, unsigned at)
{
    for (unsigned i = 0; i < POINT_COUNT; i++) {
        size_t n = ft_length(names[i]);
        if (!ft_has_prefix(*text, names[i]) || (*text)[n] != ':')
            continue;
        *text += n + 1;
        wishes[at].left = number(text);
        wishes[at].signal = **text == ':' ? ((*text)++, number(text)) : 0;
        wishes[at].every = **text == ':' ? ((*text)++, number(text)) : 0;
        wishes[at].point = i;
        return;
    }
}

static void read_wishes(void)
{
    const char *text = ft_settings_find(environ, "FLOWTAP_TEST_POINT");
    for (unsigned i = 0; i < WISHES_MAX; i++)
        wishes[i].point = POINT_COUNT;
    is_read = 1;
    for (unsigned i = 0; text != NULL && i < WISHES_MAX; i++) {
        read_wish(&text, i);
        text = *text == ',' ? text + 1 : NULL;
    }
}

void ft_test_point_reach(enum ft_test_point point)
{
    if (!is_read)
        read_wishes();
    for (unsigned i = 0; i < WISHES_MAX; i++) {
        if (point != wishes[i].point || __atomic_sub_fetch(&wishes[i].left, 1, __ATOMIC_RELAXED) != 0)
            continue;
        __atomic_store_n(&wishes[i].left, wishes[i].every, __ATOMIC_RELAXED);
        ft_sys(SYS_tgkill, ft_sys(SYS_getpid), ft_sys(SYS_gettid), wishes[i].signal);
    }
}

#endif
