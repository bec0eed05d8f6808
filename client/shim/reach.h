// SPDX-License-Identifier: MIT
/*
 * Whether memory that a program pointed to can be read. A call that succeeded has had what it needed read by the kernel
 * or by libc; one that failed may have failed before (a descriptor that is not open, a flag that is not known, a seccomp
 * filter), and then its pointers may be anything: nothing they point to is touched before the kernel was asked.
 */
#ifndef FT_SHIM_REACH_H
#define FT_SHIM_REACH_H

#include "client/shim/shim.h"

/* Number + 1 of the page that was last found readable, so that what lies beside it is not asked for again. */
struct ft_reach {
    uintptr_t page;
};

/* 1 where all of it can be read; 0 where not, or where the kernel cannot be asked (in a sandbox). */
int ft_reach_bytes(struct ft_reach *reach, const void *from, size_t n);
/* The same for a string, up to its end or `most` bytes. */
int ft_reach_text(struct ft_reach *reach, const char *text, size_t most);
/* 1 where a call that failed with this error had read what its arguments pointed to. */
int ft_reach_is_implied(int error);

#endif
