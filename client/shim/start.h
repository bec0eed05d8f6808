// SPDX-License-Identifier: MIT
/* Start and end of a process image. */
#ifndef FT_SHIM_START_H
#define FT_SHIM_START_H

/* Arguments as the image got them; NULL where nobody has told yet. */
extern char *const *ft_start_argv;
extern char **environ;

/* The environment, also before libc knows it (preinit functions, IFUNC resolvers of the program); NULL: not to be had. */
char *const *ft_start_environment(void);
/* 0 while ld.so has not relocated this library: an IFUNC resolver of another is calling. There is no thread storage then. */
int ft_start_is_relocated(void);

#endif
