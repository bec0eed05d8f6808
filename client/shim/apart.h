// SPDX-License-Identifier: MIT
/*
 * Threads that take for themselves what a process's threads share: the working directory, the table of descriptors
 * (unshare, close_range). Names are then asked for where they are used; the table here goes on being that of the others.
 */
#ifndef FT_SHIM_APART_H
#define FT_SHIM_APART_H

#include <stdint.h>

enum { FT_CLOSE_RANGE_UNSHARE = 2 }; /* <linux/close_range.h>, from Linux 5.9 on */

/* Before a call that makes this thread's descriptors its own; nothing where no other thread runs. For ft_apart_end_take. */
uint16_t ft_apart_begin_take(void);
/* After it, with what that returned: where it failed, all is as before. */
void ft_apart_end_take(uint16_t why_before, int is_taken);

/* Before a raw system call: what it may do to the directory and to the table. */
void ft_apart_note_syscall(long number, long a, long c);

#endif
