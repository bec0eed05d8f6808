// SPDX-License-Identifier: MIT
/* What a finished call had asked for, where that lies in the program's memory. */
#ifndef FT_SHIM_ASKED_H
#define FT_SHIM_ASKED_H

#include "client/shim/hot.h"

/* 1, and the bytes asked for, where they are told. */
int ft_asked_size(const struct ft_outcome *o, uint64_t *size);
/* 1, and where the call began, where that is told. */
int ft_asked_offset(const struct ft_outcome *o, int64_t *offset);
/* 1 where a path of the call may be read. */
int ft_asked_path(const struct ft_outcome *o, const char *path);

#endif
