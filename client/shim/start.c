// SPDX-License-Identifier: MIT
#include "client/shim/start.h"

#include "client/shim/attach.h"
#include "client/shim/hot.h"
#include "client/shim/levels.h"
#include "client/shim/real.h"
#include "client/shim/settings.h"
#include "client/shim/stdio_state.h"

#include <sys/auxv.h>

/* ld.so's, in every glibc: where the kernel put the count of arguments, the arguments and the environment. */
extern void *__libc_stack_end __attribute__((weak));

char *const *ft_start_argv;
static int has_started;

/* For tools that ask whether the shim is there. */
__attribute__((visibility("default"))) const unsigned flowtap_shim_version = FT_SHIM_VERSION;

/*
 * AddressSanitizer's runtime asks for more options here. It refuses to start where another library is loaded before it,
 * for fear that its allocator is not the first; this one defines no allocator and calls the runtime's functions next.
 * A definition of the program itself comes before this one, and ASAN_OPTIONS before both.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "verify_asan_link_order=0";
}

static const char here; /* of this file alone, so that its address is computed, not loaded */
FT_RELOCATED static const void *const volatile relocated = &here;

int ft_start_is_relocated(void)
{
    return relocated == (const void *)&here;
}

char *const *ft_start_environment(void)
{
    if (environ != NULL || has_started)
        return environ;
    if (&__libc_stack_end == NULL || __libc_stack_end == NULL)
        return NULL;
    char *const *words = __libc_stack_end;
    size_t count = (size_t)(uintptr_t)words[0];
    if (count >= INT32_MAX || words[1 + count] != NULL)
        return NULL;
    ft_start_argv = words + 1;
    return words + 1 + count + 1;
}

void ft_settings_decide(void)
{
    char *const *envp = ft_start_environment();
    if (envp == NULL && !has_started)
        return; /* a later call will tell */
    ft_process.decided = 1;
    if (ft_settings_find(envp, "FLOWTAP") == NULL || getauxval(AT_SECURE) != 0 || ft_real_is_second_copy())
        return;
    ft_settings_read(envp);
}

/* Arguments as glibc gives them to constructors. */
__attribute__((constructor)) static void start(int count, char **argv, char **envp)
{
    (void)count;
    (void)envp;
    ft_start_argv = argv;
    has_started = 1;
    if (ft_thread.mode == FT_MODE_NEW)
        ft_enter_slow();
    ft_levels_start();
}

__attribute__((destructor)) static void finish(void)
{
    FT_TEST_POINT(finishing);
    if (ft_is_attached() && ft_enter()) {
        ft_calls_ending();
        ft_stdio_finish();
    }
    FT_TEST_POINT(finished);
}
