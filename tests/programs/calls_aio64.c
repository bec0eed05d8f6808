// SPDX-License-Identifier: MIT
// The same by the names of large files.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE -D_FILE_OFFSET_BITS=64
#define NAME(name) name "64"
#include "calls_aio.c"
