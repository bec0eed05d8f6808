// SPDX-License-Identifier: MIT
#include "client/shim/start.h"

#include "client/shim/attach.h"
#include "client/shim/hot.h"
#include "client/shim/real.h"
#include "client/shim/settings.h"
#include "client/shim/stdio_state.h"

#include <sys/auxv.h>

char *const *ft_start_argv;

/* For tools that ask whether the shim is there. */
__attribute__((visibility("default"))) const unsigned flowtap_shim_version = FT_SHIM_VERSION;

void ft_settings_decide(void)
{
    if (ft_settings_find(environ, "FLOWTAP") == NULL || getauxval(AT_SECURE) != 0 || ft_real_is_second_copy())
        return;
    ft_settings_read(environ);
}

/* Arguments as glibc gives them to constructors. */
__attribute__((constructor)) static void start(int count, char **argv, char **envp)
{
    (void)count;
    (void)envp;
    ft_start_argv = argv;
    if (ft_thread.mode == FT_MODE_NEW)
        ft_enter_slow();
}

__attribute__((destructor)) static void finish(void)
{
    FT_TEST_POINT(finishing);
    if (ft_wiped.base != 0 && ft_enter())
        ft_stdio_finish();
    FT_TEST_POINT(finished);
}
