// SPDX-License-Identifier: MIT
/*
 * Threads that take for themselves what a process's threads share: the working directory, the table of descriptors
 * (unshare, close_range). Names are then asked for where they are used; the table here goes on being that of the others.
 */
#ifndef FT_SHIM_APART_H
#define FT_SHIM_APART_H

enum { FT_CLOSE_RANGE_UNSHARE = 2 }; /* <linux/close_range.h>, from Linux 5.9 on */

/* This thread's descriptors are its own from here on; nothing where no other thread runs. */
void ft_apart_take_files(void);

/* Before a raw system call: what it may do to the directory and to the table. */
void ft_apart_note_syscall(long number, long a, long c);

#endif
