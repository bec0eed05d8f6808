// SPDX-License-Identifier: MIT
/*
 * The functions that the shim stands before: the next definition behind the shim in link order, as RTLD_NEXT gives, but
 * of the default version, and found without dlsym (which locks and allocates). Each is looked up at its first call.
 */
#ifndef FT_SHIM_REAL_H
#define FT_SHIM_REAL_H

#include "client/shim/shim.h"

typedef void ft_function(void);
/* syscall(2), and what stands before it here: it looks at the result of a call that matters. */
typedef long ft_raw_function(long number, ...);

/* By call id; NULL: not looked up yet. */
enum { FT_REAL_MAX = 1024 };
extern ft_function *ft_real_table[FT_REAL_MAX];

/* Looks up and remembers; NULL where no library has it. */
ft_function *ft_real_resolve(unsigned call);

FT_HOT ft_function *ft_real(unsigned call)
{
    ft_function *real = __atomic_load_n(&ft_real_table[call], __ATOMIC_RELAXED);
    return ft_likely(real != NULL) ? real : ft_real_resolve(call);
}

/* The same for any other function, each time. */
ft_function *ft_real_find(const char *name);
/* The objects of the process in link order; NULL: not to be had. Who goes to the end is in a constructor: ld.so waits. */
struct link_map;
const struct link_map *ft_real_first_map(void);
ft_function *ft_real_in_vdso(const char *name);
/* 1 where another copy of this library stands before this one in link order: this one stays out of the way. */
int ft_real_is_second_copy(void);
/* Path of this library as it was loaded; "" where unknown. */
const char *ft_real_own_path(void);

#endif
