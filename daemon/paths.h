// SPDX-License-Identifier: MIT
//
// Joining what a program passed to where it was: `//` and `/./` go, `..` and symlinks stay, since removing them
// lexically would be wrong.
#ifndef FT_DAEMON_PATHS_H
#define FT_DAEMON_PATHS_H

#include <stdbool.h>
#include <stddef.h>

enum { FT_PATHS_BYTES_MAX = 8192 };

// Writes base + "/" + name into out; an absolute name stands for itself; without a base a relative name stays relative.
// *is_cut is set (never cleared) where the result was longer than `room`. Returns its bytes; out is not terminated.
size_t ft_paths_join(char *out, size_t room, const char *base, size_t base_bytes, const char *name, size_t name_bytes,
                     bool *is_cut);

#endif
