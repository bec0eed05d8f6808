// SPDX-License-Identifier: MIT
/*
 * Traced bytes beside the kernel's own count, like with like.
 *
 * The kernel's rchar + wchar of a process hold those of children that it waited for (kernel/exit.c, wait_task_zombie).
 * The daemon takes off what has a record of its own; what an image did whose counters nobody read stays in those of the
 * nearest ancestor that has some. So that ancestor's traced bytes are to hold this image's too. Where there is none,
 * the image is left out on both sides.
 */
#ifndef FT_CLI_ANALYSIS_COVERAGE_H
#define FT_CLI_ANALYSIS_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FT_COVERAGE_NONE UINT32_MAX

struct ft_coverage_image {
    uint32_t parent; /* index; FT_COVERAGE_NONE: not traced */
    bool is_exec;    /* `parent` is the image of the same pid before an exec */
    bool is_known;   /* kernel_bytes is */
    int64_t end_ns;  /* 0: still running */
    uint64_t kernel_bytes, traced_bytes;
};

struct ft_coverage {
    uint64_t traced_bytes, kernel_bytes;
    size_t tasks;       /* pids: exec'ed images are not counted again */
    size_t known_tasks; /* whose counters are known */
};

void ft_coverage_find(const struct ft_coverage_image *images, size_t count, struct ft_coverage *out);

#endif
