/* SPDX-License-Identifier: MIT */
/*
 * Forks that are on their way: fork and what of libc forks inside. Of the child it is known then that it has one thread; and
 * while there are any, nothing is done that would leave it a lock that is held. A fork that never ends (cancelled in
 * forkpty's open, left by a jump) is none any more.
 */
#ifndef FT_SHIM_FORKS_H
#define FT_SHIM_FORKS_H

#include <stdint.h>

/*
 * `frame`: of the wrapper. For ft_fork_end; NULL: too many at a time, and this thread is one of those beyond FT_LINES_MAX,
 * which have no line. Whose that fork is, is not known, nor that a jump left it.
 */
uint64_t *ft_fork_begin(const void *frame);
void ft_fork_end(uint64_t *place, const void *frame);
/* Whether one of this thread goes on above `frame`: in a child that has not attached, the one that made it. No system call. */
int ft_fork_is_own(const void *frame);
/* Whether one of any thread does. */
int ft_fork_is_any(const void *frame);
/* This thread ends. */
void ft_forks_leave(void);
/* In a forked child. */
void ft_forks_reset(void);

#endif
