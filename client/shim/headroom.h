// SPDX-License-Identifier: MIT
/* What the process's memory cgroups leave it, where nobody has told and the ring is full: looked at once in an image. */
#ifndef FT_SHIM_HEADROOM_H
#define FT_SHIM_HEADROOM_H

/*
 * 1: no limit is near, as far as groups are mounted where they usually are. 0: one is, or it cannot be seen. A descriptor
 * is open for a moment: for a process of one thread, while no handler runs.
 */
int ft_headroom_is_wide(void);

#endif
