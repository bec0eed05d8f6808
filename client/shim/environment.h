// SPDX-License-Identifier: MIT
/*
 * The environment of an image about to be executed: LD_PRELOAD's entry of this library and the FLOWTAP variables are put
 * back where they were cleaned, and nothing else. Under a seccomp filter nothing is put back, and FLOWTAP=1 is taken out:
 * what attaching does may be just what the filter kills for.
 */
#ifndef FT_SHIM_ENVIRONMENT_H
#define FT_SHIM_ENVIRONMENT_H

#include <stddef.h>

struct ft_environment {
    size_t count;         /* of the given list */
    size_t preload_index; /* of LD_PRELOAD in it; count: not there */
    size_t preload_bytes; /* room for the new LD_PRELOAD entry; 0: it is good */
    size_t on_index;      /* of FLOWTAP=1; count: not there */
    int is_sandboxed;     /* the new image must not attach: FLOWTAP=1 becomes FLOWTAP=sandbox */
    unsigned missing;     /* FLOWTAP variables to be put back: bits of ft_saved.variables */
};

/* What is missing in envp. Returns 0 where nothing is to be done: nothing missing, or not to be put back (a gap). */
int ft_environment_check(struct ft_environment *environment, char *const *envp);
/* Entries that the new list needs, with its NULL. */
size_t ft_environment_entries(const struct ft_environment *environment);
/* Builds the new list in `list`, with LD_PRELOAD's text in `text` (preload_bytes). */
void ft_environment_build(const struct ft_environment *environment, char *const *envp, char **list, char *text);

/*
 * For libc's own spawns (system, popen, wordexp), which take the program's environment as it is: FLOWTAP=1 becomes
 * FLOWTAP=sandbox in it, and back.
 */
void ft_environment_off(void);
void ft_environment_on(void);

#endif
