// SPDX-License-Identifier: MIT
/* The environment (DESIGN: FLOWTAP_*) and the policy file, read once per process image. */
#ifndef FT_SHIM_SETTINGS_H
#define FT_SHIM_SETTINGS_H

#include "client/shim/shim.h"

/*
 * Variables as they were when the image attached, for exec to put back: LD_PRELOAD's entry of this library and each
 * FLOWTAP variable. Copies in our own memory, since the program may change its environment.
 */
enum { FT_SAVED_MAX = 24 };
struct ft_saved {
    const char *preload; /* absolute path of this library, as LD_PRELOAD has it if it does; NULL: none */
    const char *variables[FT_SAVED_MAX];
    unsigned count;
};
extern struct ft_saved ft_saved;

extern int ft_debug; /* FLOWTAP_DEBUG is set: attaching tells on stderr what it does */
void ft_debug_say(const char *what, long value);

#define FT_SHIM_LIBRARY "libflowtap-preload.so"
/* 1 where an entry of LD_PRELOAD names this library, in whatever folder. */
int ft_settings_is_library(const char *entry, size_t n);

/* Value of `name` in a list of NAME=VALUE; NULL where it is not there. */
const char *ft_settings_find(char *const *envp, const char *name);

#endif
