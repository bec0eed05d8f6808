/* SPDX-License-Identifier: MIT */
/* Raw system calls by which a process shuts itself in; its functions are in sandbox.c. */
#ifndef FT_SHIM_SANDBOX_H
#define FT_SHIM_SANDBOX_H

#include "client/shim/real.h"

/* The function that makes this raw system call: `real`, or one here that looks at its result. */
ft_function *ft_sandbox_function(long number, long a, long b, ft_function *real);

#endif
