// SPDX-License-Identifier: MIT
/* What only attach.c and the image's start need of each other. */
#ifndef FT_SHIM_ATTACH_H
#define FT_SHIM_ATTACH_H

#include "client/shim/shim.h"

/* start.c: reads the settings unless this is a secure execution or a second copy of the library. */
void ft_settings_decide(void);

/* segment.c: makes this image's segment, maps it at ft_process.base and hands it over. 0 or -errno. */
long ft_segment_make(enum ft_image image);
/* Puts memory of nobody in the place of the segment at `base`: who still has addresses of it does no harm. */
void ft_segment_leave(uint64_t base);

#endif
