// SPDX-License-Identifier: MIT
/*
 * Whose the threads' time in each bin is: by category, each moment of a thread belonging to the innermost of its events
 * (analysis_owned.h). So a POSIX call inside a span of MPI-IO is not counted for both, and the categories add up.
 */
#ifndef FT_CLI_ANALYSIS_TIMELINE_CATEGORIES_H
#define FT_CLI_ANALYSIS_TIMELINE_CATEGORIES_H

#include "client/cli/analysis_ends.h"
#include "client/cli/analysis_owned.h"
#include "client/cli/analysis_timeline.h"
#include "client/cli/map.h"

enum { FT_CATEGORIES_CACHE_SLOTS = 256 };

/* The segments of the block at hand, in which a group is a call's id, or FT_TRACE_CALL_MAX and the id of a span's category. */
struct ft_categories_block {
    size_t reader;
    struct ft_owned_maker maker;
    struct ft_categories_part {
        uint32_t thread;     /* of the set */
        size_t first, count; /* of what `maker` made */
    } *parts;
    size_t part_count, part_space;
};

/* What blocks are put together in, one at a time and in the order of the pass. */
struct ft_categories {
    struct ft_timeline *timeline;
    const struct ft_trace_set *set;
    struct ft_map index;
    struct ft_ends ends;
    struct ft_owned_list *pending; /* by thread: what a block that is still to come may take from */
    struct {
        uint32_t group, category; /* group: + 1, 0: free */
    } cache[FT_CATEGORIES_CACHE_SLOTS];
};

void ft_categories_init(struct ft_categories *categories, struct ft_timeline *timeline, const struct ft_trace_set *set);
/* Forgets the block before, and takes these rows. */
void ft_categories_block_read(struct ft_categories_block *block, const struct ft_trace_set *set, size_t reader,
                              const struct ft_rows *rows);
void ft_categories_block_fini(struct ft_categories_block *block);
void ft_categories_take(struct ft_categories *categories, struct ft_categories_block *block);
/* Once all blocks are taken: the timeline's categories are whole, in order of their time. */
void ft_categories_end(struct ft_categories *categories);

#endif
