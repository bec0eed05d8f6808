// SPDX-License-Identifier: MIT
/* Globs (proto/glob.h) of absolute paths. */
#ifndef FT_SHIM_GLOB_H
#define FT_SHIM_GLOB_H

#include <stddef.h>

#include "proto/glob.h"
#include "proto/settings.h"

struct ft_globs {
    unsigned count;
    struct {
        const char *bytes;
        unsigned n;
    } entries[FT_SETTING_GLOBS_MAX];
};

/* Keeps the pointer. Empty ones and those beyond FT_SETTING_GLOBS_MAX are left out (counted as settings ignored). */
void ft_globs_add(struct ft_globs *globs, const char *bytes, size_t n);
/* Colon-separated; copied; relative ones are joined to the working directory. NULL: nothing. */
void ft_globs_add_list(struct ft_globs *globs, const char *list);
/* Takes empty components and `.` out of a path or a pattern, as is done with recorded names; the new length. */
size_t ft_glob_squeeze(char *path, size_t n);
int ft_glob_is_squeezed(const char *path, size_t n);
int ft_globs_match(const struct ft_globs *globs, const char *path, size_t n);

#endif
