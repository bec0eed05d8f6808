// SPDX-License-Identifier: MIT
/*
 * Rings of io_uring that this process makes or submits to by raw system calls: how many calls went through them. Rings
 * that are used by instructions of the program's own are found by flowtapd, if they live long enough.
 */
#ifndef FT_SHIM_URING_H
#define FT_SHIM_URING_H

#include "client/shim/real.h"

extern uint32_t ft_uring_rings; /* known here; 0 nearly always */

/* The function that makes this raw system call: `real`, or one here that looks at its result. */
ft_function *ft_uring_function(long number, ft_function *real);
/* Descriptors that are about to be closed: what went through rings among them is counted now. */
void ft_uring_closing(unsigned first, unsigned last);
/* A child is about to be forked, which has these rings too. */
void ft_uring_forking(void);
/* In a forked child: the rings are its parent's. */
void ft_uring_reset(void);

#endif
