/* SPDX-License-Identifier: MIT */
/* Sizes that assembly and C share: see levels.h. */
#ifndef FT_SHIM_LEVELS_IDS_H
#define FT_SHIM_LEVELS_IDS_H

#define FT_LEVELS_FUNCTIONS 2048 /* functions of libraries that are stood before */
#define FT_LEVELS_CALLS 4096     /* calls of them that may be running at a time, in all threads */
#define FT_LEVELS_STUB_BYTES 16

#endif
