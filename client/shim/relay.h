// SPDX-License-Identifier: MIT
/*
 * Another library that stands before libc, as this one does, may do a call of the program by another name of the same call, which leads
 * here again: fakeroot's stat calls __xstat. That is one call of the program, and one event: the outer one.
 *
 * What such a call is, is told by all of these, so that what handlers, callbacks and constructors do within a call, and what
 * the other library does of its own, are events as ever:
 *   - a call of this thread is running, whose real function is the other library's;
 *   - it is the same call by whatever name (a table), on the same descriptor or with the same path, by its address;
 *   - it comes from the code of such a library, or was jumped to at its end: then it seems to come from here.
 * Where no other library stands behind this one, nothing is ever looked at but that there is none.
 */
#ifndef FT_SHIM_RELAY_H
#define FT_SHIM_RELAY_H

#include "client/shim/hot.h"

struct link_map;

/* When a real function was found in the object `found`: remembers it, and objects before `own` that have that name, unless it is libc. */
void ft_relay_note(const struct link_map *own, const struct link_map *found, const char *name);

/* `caller`: the wrapper's return address; `frame`: FT_FRAME() of it. */
int ft_relay_is_inner(unsigned call, const struct ft_args *args, const void *caller, const void *frame);

/* What a row says, where nothing of it is to be in memory unless it is asked for. */
#define FT_ASKED(...) ((const struct ft_args){__VA_ARGS__})

/* 1: no event. In a wrapper's body, which its entry jumps to, when ft_enter() has said 1. */
#define FT_IS_RELAYED(id, args)                \
    (ft_unlikely(ft_thread.line->call != 0) && \
     ft_unlikely(ft_relay_is_inner((id), (args), __builtin_return_address(0), FT_FRAME())))

#endif
