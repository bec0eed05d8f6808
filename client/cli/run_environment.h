// SPDX-License-Identifier: MIT
/* The environment of a traced command: the caller's own, with what Flowtap needs put in. */
#ifndef FT_CLI_RUN_ENVIRONMENT_H
#define FT_CLI_RUN_ENVIRONMENT_H

#include "client/cli/options.h"

struct ft_environment {
    char **items; /* NULL-terminated; all allocated */
    size_t count;
};

void ft_environment_init(struct ft_environment *environment, char *const *from);
void ft_environment_fini(struct ft_environment *environment);
const char *ft_environment_get(const struct ft_environment *environment, const char *name);
/* NULL removes. */
void ft_environment_set(struct ft_environment *environment, const char *name, const char *value);

/* `name` becomes its old value and the items, joined by the separator. Nothing changes where there are no items. */
void ft_environment_join(struct ft_environment *environment, const char *name, const struct ft_strings *items,
                         char separator);

/*
 * Merges the library into a value of LD_PRELOAD (NULL: none): first, but behind sanitizer runtimes, whose
 * allocator has to be the first. A library that is there already is not named twice.
 */
char *ft_environment_preload(const char *old, const char *library);
/* The value without the library; NULL where nothing is left. */
char *ft_environment_unload(const char *old, const char *library);

#endif
