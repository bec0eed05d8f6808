/* SPDX-License-Identifier: MIT */
/*
 * The terminal of a live view: drawn as a whole, keys without an end of line, and as it was before whatever ends us.
 *
 * There is one at a time. Signals that end or stop us, and changes of the window's size, come as what ft_top_screen_wait() says.
 */
#ifndef FT_CLI_TOP_SCREEN_H
#define FT_CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "client/cli/table.h"

/* Whether stdout is a terminal on which one can draw. */
bool ft_top_screen_is_possible(void);

/* 0 or -errno. */
int ft_top_screen_open(void);
void ft_top_screen_close(void);

/* Begins a picture; what is printed to screen->out is drawn by _end, cut to the terminal. Lines that it has. */
size_t ft_top_screen_begin(struct ft_screen *screen);
void ft_top_screen_end(void);

enum { FT_TOP_TIMEOUT = -1, FT_TOP_REDRAW = -2, FT_TOP_ENDED = -3 };
/* A key, FT_TOP_TIMEOUT, FT_TOP_REDRAW (the size changed, or we were stopped and go on), FT_TOP_ENDED (by a signal). */
int ft_top_screen_wait(int64_t timeout_ns);

/* After _close: ends us by the signal that said so, if one did. */
void ft_top_screen_die(void);

#endif
