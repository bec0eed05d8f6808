// SPDX-License-Identifier: MIT
/* Limits of the process, as far as they decide whether what it starts can attach. */
#ifndef FT_SHIM_ATTACH_LIMITS_H
#define FT_SHIM_ATTACH_LIMITS_H

/* 1 where an image executed now might not attach for its limits: descriptors, file size, address space. */
int ft_limits_may_forbid(void);
/* 1 where `error` (negative) of an attach says that a limit of the process stood against it. */
int ft_limits_are_cause(long error);

#endif
