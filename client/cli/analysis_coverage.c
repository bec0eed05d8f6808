// SPDX-License-Identifier: MIT
#include "client/cli/analysis_coverage.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

/* Parents of an untrusted file may form a circle: no walk goes further. */
enum { STEPS_MAX = 1000 };

struct task {
    uint32_t last;   /* the task's last image, under whose index its figures stand */
    uint32_t parent; /* the parent task's last image */
    uint64_t traced_bytes, children_kernel_bytes, children_traced_bytes;
};

static struct task *make_tasks(const struct ft_coverage_image *images, size_t count)
{
    struct task *tasks = ft_cli_alloc(count * sizeof(*tasks));
    uint32_t *next = ft_cli_alloc(count * sizeof(*next));
    memset(next, 0xff, count * sizeof(*next));
    for (uint32_t i = 0; i < count; i++) {
        if (images[i].is_exec && images[i].parent < count && images[i].parent != i) {
            next[images[i].parent] = i;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t last = i, first = i;
        for (int step = 0; step < STEPS_MAX && next[last] != FT_COVERAGE_NONE; step++) {
            last = next[last];
        }
        for (int step = 0; step < STEPS_MAX && images[first].is_exec && images[first].parent < count; step++) {
            first = images[first].parent;
        }
        tasks[i].last = last;
        tasks[i].parent = images[first].is_exec ? FT_COVERAGE_NONE : images[first].parent;
        tasks[last].traced_bytes += images[i].traced_bytes;
    }
    for (uint32_t i = 0; i < count; i++) {
        tasks[i].parent = tasks[i].parent < count ? tasks[tasks[i].parent].last : FT_COVERAGE_NONE;
    }
    free(next);
    return tasks;
}

/* The nearest ancestor with counters that has taken this task's over; FT_COVERAGE_NONE: none. */
static uint32_t holder_of(const struct ft_coverage_image *images, const struct task *tasks, uint32_t task)
{
    for (int step = 0; step < STEPS_MAX; step++) {
        uint32_t parent = tasks[task].parent;
        if (parent == FT_COVERAGE_NONE || parent == task || images[task].end_ns == 0 ||
            (images[parent].end_ns != 0 && images[parent].end_ns < images[task].end_ns)) {
            return FT_COVERAGE_NONE;
        }
        if (images[parent].is_known) {
            return parent;
        }
        task = parent;
    }
    return FT_COVERAGE_NONE;
}

static void add_task(const struct ft_coverage_image *image, const struct task *task, struct ft_coverage *out)
{
    out->tasks++;
    if (!image->is_known) {
        return;
    }
    /* Less than its children's sum: they were not waited for (SIGCHLD ignored), and nothing was taken over. */
    bool took_over = task->children_kernel_bytes <= image->kernel_bytes;
    out->known_tasks++;
    out->kernel_bytes += image->kernel_bytes - (took_over ? task->children_kernel_bytes : 0);
    out->traced_bytes += task->traced_bytes + (took_over ? task->children_traced_bytes : 0);
}

void ft_coverage_find(const struct ft_coverage_image *images, size_t count, struct ft_coverage *out)
{
    struct task *tasks = make_tasks(images, count);
    memset(out, 0, sizeof(*out));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t holder = tasks[i].last == i ? holder_of(images, tasks, i) : FT_COVERAGE_NONE;
        if (holder != FT_COVERAGE_NONE && images[i].is_known) {
            tasks[holder].children_kernel_bytes += images[i].kernel_bytes;
        } else if (holder != FT_COVERAGE_NONE) {
            tasks[holder].children_traced_bytes += tasks[i].traced_bytes;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (tasks[i].last == i) {
            add_task(&images[i], &tasks[i], out);
        }
    }
    free(tasks);
}
