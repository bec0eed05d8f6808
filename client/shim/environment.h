// SPDX-License-Identifier: MIT
/*
 * The environment of an image about to be executed: LD_PRELOAD's entry of this library and the FLOWTAP variables are put
 * back where they were cleaned, and nothing else. Where the program itself turns tracing off (FLOWTAP other than 1,
 * FLOWTAP_MODE=off) all is left alone. Under a seccomp filter nothing is put back, and FLOWTAP=1 is taken out: what
 * attaching does may be just what the filter kills for.
 */
#ifndef FT_SHIM_ENVIRONMENT_H
#define FT_SHIM_ENVIRONMENT_H

#include <stddef.h>

#include "proto/ring.h"

struct ft_environment {
    size_t count;          /* of the given list */
    size_t preload_index;  /* of the LD_PRELOAD that ld.so takes, the last; count: not there */
    size_t preload_bytes;  /* room for the new LD_PRELOAD entry; 0: it is good */
    size_t on_index;       /* of the FLOWTAP that getenv finds, the first; SIZE_MAX: not there */
    int is_off;            /* it turns tracing off */
    int is_sandboxed;      /* the new image must not attach: FLOWTAP=1 becomes FLOWTAP=sandbox */
    int is_elsewhere;      /* its FLOWTAP_SOCKET is not ours */
    unsigned missing;      /* FLOWTAP variables to be put back: bits of ft_saved.variables */
    enum ft_follow follow; /* what is known to keep the new image from attaching */
};

/* What is missing in envp, and what `follow` is. Returns 1 where the list is to be built anew, 0 where it stays. */
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

/* Private pages for a list; those of a vfork child that becomes another image are given back when its parent goes on. */
void *ft_environment_take_pages(size_t bytes);
void ft_environment_give_pages(void *pages, size_t bytes);

/*
 * `environ` itself completed for the time of a call that starts a program with it, where no other thread could see
 * that. Returns what is known to keep the program from attaching.
 */
struct ft_lent {
    char **before, **list;
    size_t bytes;
};
enum ft_follow ft_environment_lend(struct ft_lent *lent);
void ft_environment_take_back(const struct ft_lent *lent);

#endif
