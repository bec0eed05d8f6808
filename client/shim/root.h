// SPDX-License-Identifier: MIT
/*
 * The root directory after a chroot: names that begin there are told as they are seen from the root before, so that a
 * file has one name in a trace, inside and outside. What a program executed inside does is told from inside.
 */
#ifndef FT_SHIM_ROOT_H
#define FT_SHIM_ROOT_H

#include "client/shim/shim.h"

struct ft_root {
    size_t n; /* bytes of its name, which has no slash at its end */
    char text[FT_PAGE_BYTES - sizeof(size_t)];
};

extern struct ft_root *ft_root; /* NULL: no chroot, or nobody knows where to */

/* What stands before a name that the program or the kernel uses now; 0 and NULL where nothing does. */
static inline size_t ft_root_before(const char *path, size_t n, const char **text)
{
    const struct ft_root *root = __atomic_load_n(&ft_root, __ATOMIC_ACQUIRE);
    *text = NULL;
    if (ft_likely(root == NULL) || n == 0 || path[0] != '/')
        return 0;
    *text = root->text;
    return root->n;
}

#endif
