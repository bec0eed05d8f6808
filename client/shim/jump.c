// SPDX-License-Identifier: MIT
/*
 * Jumps out of running calls: by longjmp from a handler or a callback, or for good by a thread's or the process's end.
 * The calls that are left do not end, and a thread's line must not show them as running for ever.
 */
#include "client/shim/holder.h"
#include "client/shim/real.h"
#include "client/shim/shapes.h"
#include "client/shim/uring.h"

void ft_calls_left(void)
{
    if (ft_thread.mode >= FT_MODE_ON && ft_wiped.base != 0)
        ft_thread.line->call = 0;
}

/* A cancelled thread leaves its call without a word to us: its line shows it until another thread takes the line. */
static void forget_calls_of_ended_threads(void)
{
    uint32_t used = ft_process.lines_used < ft_process.lines_max ? ft_process.lines_used : ft_process.lines_max;
    for (uint32_t i = 1; i < used; i++) {
        struct ft_line *line = (struct ft_line *)ft_page(ft_process.lines_page) + i;
        if (line->call != 0 && line->tid != 0 && ft_holder_thread_has_ended(line->tid))
            line->call = 0;
    }
}

void ft_calls_ending(void)
{
    if (ft_thread.mode < FT_MODE_ON || ft_wiped.base == 0 || ft_thread.vfork_depth != 0)
        return;
    ft_calls_left();
    if (ft_unlikely(ft_uring_rings != 0))
        ft_uring_closing(0, UINT32_MAX);
    if (!ft_is_shut_in())
        forget_calls_of_ended_threads();
}

/*
 * Where the jump stays within a handler, the call that the handler interrupts goes on unshown: a smaller fault than
 * the other, and the jump's buffer is not for us to read.
 */
#define JUMP(name)                                                          \
    ft_function *ft_hook_##name(void);                                      \
    __attribute__((visibility("hidden"))) ft_function *ft_hook_##name(void) \
    {                                                                       \
        ft_calls_left();                                                    \
        return ft_real(FT_CALL_ID_##name);                                  \
    }

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)
