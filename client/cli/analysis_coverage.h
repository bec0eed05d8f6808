// SPDX-License-Identifier: MIT
/*
 * Traced bytes beside the kernel's own count, like with like.
 *
 * The kernel's rchar + wchar of a process hold those of children that it waited for (kernel/exit.c, wait_task_zombie);
 * of an image they are what was counted while that image ran. So from an image's counters those of children that ended
 * while it ran are taken away before all are added up. The bytes of an image whose counters nobody read are held by the
 * nearest ancestor that has some; where there is none, they are left out on both sides.
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
