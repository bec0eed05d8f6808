// SPDX-License-Identifier: MIT
/*
 * Threads that take for themselves what a process's threads share: the working directory, the table of descriptors
 * (unshare, close_range). Names are then asked for where they are used; the table here goes on being that of the others.
 */
#ifndef FT_SHIM_APART_H
#define FT_SHIM_APART_H

#include "client/shim/real.h"

enum { FT_CLOSE_RANGE_UNSHARE = 2 }; /* <linux/close_range.h>, from Linux 5.9 on */

/* Around a close_range; what the first gives is for the second. */
uint16_t ft_apart_begin_close_range(unsigned first, unsigned last, int flags);
void ft_apart_end_close_range(int flags, uint16_t why_before, int has_worked);

/* The directory is another one: it is asked for again when a relative name needs it. A vfork child's is its own. */
void ft_apart_moved(void);

/* The function that makes this raw system call: `real`, or one here that looks at what it did to directory and table. */
ft_function *ft_apart_function(long number, ft_function *real);

#endif
