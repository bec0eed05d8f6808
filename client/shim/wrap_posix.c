// SPDX-License-Identifier: MIT
/* Wrappers of the ordinary calls on descriptors and paths. */
#include "client/shim/shapes.h"

#include <aio.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* Made in wrap_stdio.c and wrap_process.c. */
#define FT_SHAPE_FOPEN(...)
#define FT_SHAPE_STDIO_IN(...)
#define FT_SHAPE_STDIO_ITEMS(...)
#define FT_SHAPE_STDIO_GETS(...)
#define FT_SHAPE_STDIO_SCAN(...)
#define FT_SHAPE_STDIO_OUT(...)
#define FT_SHAPE_STDIO_FLUSH(...)
#define FT_SHAPE_STDIO_SEEK(...)
#define FT_SHAPE_STDIO_SEEK_VOID(...)
#define FT_SHAPE_STDIO_OTHER(...)
#define FT_SHAPE_STDIO_OTHER_VOID(...)
#define FT_SHAPE_STDIO_WIDE(...)
#define FT_SHAPE_STDIO_WIDE_STRING(...)
#define FT_SHAPE_EXIT(...)

#define FT_CALL FT_MAKE
#include "proto/calls.def"

void ft_path_begin(struct ft_call_state *state, unsigned call)
{
    static const struct ft_args none = {.has_fd = 0};
    ft_begin(state, call, &none);
}

void ft_path_end(struct ft_call_state *state, unsigned call, const struct ft_args *args, long result)
{
    struct ft_outcome outcome = {.args = args, .result = result, .end = ft_end_clock(state)};
    ft_end_slow(state, call, &outcome);
}

void ft_event_before(unsigned call, const struct ft_args *args)
{
    struct ft_call_state state;
    ft_begin(&state, call, args);
    struct ft_outcome outcome = {.args = args, .end = state.start};
    (void)ft_end_clock(&state);
    if (state.excluded)
        return;
    ft_end_slow(&state, call, &outcome);
}
