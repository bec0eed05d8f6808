// SPDX-License-Identifier: MIT
//
// The birth of a file: what tells the files apart that had one inode number after each other. 56 bits, 0 unknown.
//
// Where the file system numbers the lives of an inode (its generation), that number and, as far as it is known, when the
// inode came to be: the same for whoever asks, whenever. Such a birth is exact. Else it is that time alone, which is as
// coarse as the kernel's clock (some ms), so that files which follow each other faster may have it in common.
#ifndef FT_PROTO_BIRTH_H
#define FT_PROTO_BIRTH_H

#include <stdbool.h>
#include <stdint.h>

#define FT_FILE_BIRTH_MAX ((UINT64_C(1) << 56) - 1)

// Exact: 0-31 generation | 32-54 of the time | 55 set. Else 0-54 low bits of the time, ns since the epoch. Traces of minor
// version 0 have 56 bits of it, and none that are exact.
#define FT_BIRTH_EXACT (UINT64_C(1) << 55)
#define FT_BIRTH_TIME_MAX (FT_BIRTH_EXACT - 1)
#define FT_BIRTH_GENERATION_MAX UINT64_C(0xffffffff)

static inline uint64_t ft_birth_of_time(uint64_t time_ns)
{
    return time_ns & FT_BIRTH_TIME_MAX;
}

static inline uint64_t ft_birth_of_generation(uint64_t time_ns, uint32_t generation)
{
    return FT_BIRTH_EXACT | (time_ns & FT_BIRTH_TIME_MAX & ~FT_BIRTH_GENERATION_MAX) | generation;
}

static inline bool ft_birth_is_exact(uint64_t birth)
{
    return birth & FT_BIRTH_EXACT;
}

// What an exact birth and one that is not have in common where they are of one file.
static inline uint64_t ft_birth_coarse(uint64_t birth)
{
    return (birth & FT_BIRTH_TIME_MAX) >> 32;
}

#endif
