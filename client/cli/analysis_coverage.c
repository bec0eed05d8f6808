// SPDX-License-Identifier: MIT
#include "client/cli/analysis_coverage.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

/* Parents of an untrusted file may form a circle: no walk goes further. */
enum { STEPS_MAX = 1000 };

struct node {
    uint32_t next;                                 /* the image that this one executed; FT_COVERAGE_NONE: none */
    uint32_t first, last;                          /* images of this pid */
    uint64_t held_kernel_bytes, held_traced_bytes; /* of children that it took over */
};

static struct node *make_nodes(const struct ft_coverage_image *images, size_t count)
{
    struct node *nodes = ft_cli_alloc(count * sizeof(*nodes));
    for (uint32_t i = 0; i < count; i++) {
        nodes[i].next = FT_COVERAGE_NONE;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (images[i].is_exec && images[i].parent < count && images[i].parent != i) {
            nodes[images[i].parent].next = i;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = i, last = i;
        for (int step = 0; step < STEPS_MAX && nodes[last].next != FT_COVERAGE_NONE; step++) {
            last = nodes[last].next;
        }
        for (int step = 0; step < STEPS_MAX && images[first].is_exec && images[first].parent < count; step++) {
            first = images[first].parent;
        }
        nodes[i].first = first;
        nodes[i].last = last;
    }
    return nodes;
}

/* The image that waited for this image's process, or could have; FT_COVERAGE_NONE: it was not traced, or ended before.
 */
static uint32_t waiter_of(const struct ft_coverage_image *images, const struct node *nodes, size_t count,
                          uint32_t image)
{
    int64_t end_ns = images[nodes[image].last].end_ns;
    uint32_t at = images[nodes[image].first].is_exec ? FT_COVERAGE_NONE : images[nodes[image].first].parent;
    for (int step = 0; step < STEPS_MAX && at < count && end_ns != 0; step++) {
        if (images[at].end_ns == 0 || images[at].end_ns >= end_ns) {
            return at;
        }
        at = nodes[at].next;
    }
    return FT_COVERAGE_NONE;
}

/* The nearest one of these whose counters are known. */
static uint32_t holder_of(const struct ft_coverage_image *images, const struct node *nodes, size_t count,
                          uint32_t image)
{
    for (int step = 0; step < STEPS_MAX && image != FT_COVERAGE_NONE; step++) {
        image = waiter_of(images, nodes, count, image);
        if (image != FT_COVERAGE_NONE && images[image].is_known) {
            return image;
        }
    }
    return FT_COVERAGE_NONE;
}

void ft_coverage_find(const struct ft_coverage_image *images, size_t count, struct ft_coverage *out)
{
    struct node *nodes = make_nodes(images, count);
    memset(out, 0, sizeof(*out));
    for (uint32_t i = 0; i < count; i++) {
        out->tasks += nodes[i].last == i;
        out->known_tasks += nodes[i].last == i && images[i].is_known;
        out->kernel_bytes += images[i].is_known ? images[i].kernel_bytes : 0;
        if (images[i].is_known || holder_of(images, nodes, count, i) != FT_COVERAGE_NONE) {
            out->traced_bytes += images[i].traced_bytes;
        }
    }
    free(nodes);
}
