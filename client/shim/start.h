// SPDX-License-Identifier: MIT
/* Start and end of a process image. */
#ifndef FT_SHIM_START_H
#define FT_SHIM_START_H

/* Arguments as the image got them; NULL before the constructor has run. */
extern char *const *ft_start_argv;
extern char **environ;

#endif
