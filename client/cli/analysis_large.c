// SPDX-License-Identifier: MIT
#include "client/cli/analysis_large.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

/* Of most systems; where they are larger, nothing is gained. */
#define LARGE_BYTES ((uintptr_t)2 << 20)

void ft_large_advise(void *memory, size_t bytes)
{
    uintptr_t begin = ((uintptr_t)memory + LARGE_BYTES - 1) & ~(LARGE_BYTES - 1);
    uintptr_t end = ((uintptr_t)memory + bytes) & ~(LARGE_BYTES - 1);
    int saved = errno;
    if (end > begin) {
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE); /* a wish; kernels without them refuse it */
    }
    errno = saved;
}
