// SPDX-License-Identifier: MIT
/*
 * Traced bytes beside the kernel's own count, like with like.
 *
 * The kernel's rchar + wchar belong to a task (pid): an exec keeps them, and a parent that waits for a child takes the
 * child's over (kernel/exit.c, wait_task_zombie). So images of one pid are put together, and from a parent's counters
 * those of its ended children are taken away before all are added up. The bytes of a child whose counters nobody read
 * are held by the nearest ancestor that has some; where there is none, they are left out on both sides.
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
