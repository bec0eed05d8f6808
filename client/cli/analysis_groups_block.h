// SPDX-License-Identifier: MIT
/* What one block adds to the groups of its events: one thread's part of analysis_groups.c. */
#ifndef FT_CLI_ANALYSIS_GROUPS_BLOCK_H
#define FT_CLI_ANALYSIS_GROUPS_BLOCK_H

#include <pthread.h>

#include "client/cli/analysis_groups.h"
#include "client/cli/analysis_owned.h"
#include "client/cli/analysis_pass.h"

enum { FT_GROUPS_CACHE_SLOTS = 1024 };

/* The numbers of groups, for all threads. */
struct ft_groups_index {
    pthread_mutex_t lock;
    struct ft_map map; /* values -> number */
    bool is_full;      /* more than FT_GROUPS_MAX: none is counted any more */
};

/* What a block adds to one group. */
struct ft_groups_slot {
    uint32_t group;
    struct ft_group_sums sums;
    int64_t owned_ns;
    struct ft_sweep_block block;
    struct ft_intervals busy;
};

/* The segments of a thread. */
struct ft_groups_part {
    uint32_t thread;     /* of the set */
    size_t first, count; /* of what ft_groups_block.maker made */
};

struct ft_groups_cached {
    uint32_t values[FT_GROUP_KEYS_MAX];
    uint32_t group; /* + 1; 0: free */
};

struct ft_groups_block {
    struct ft_pass *pass;
    const struct ft_group_keys *keys;
    struct ft_groups_index *index;
    void *context; /* of who takes it */
    struct ft_groups_cached cache[FT_GROUPS_CACHE_SLOTS];
    uint32_t *slot_of; /* by group: its slot in the block at hand */
    size_t slot_of_space;
    struct ft_groups_slot *slots;
    size_t slot_count, slot_space;
    struct ft_owned_maker maker;
    struct ft_groups_part *parts;
    size_t part_count, part_space;
    uint32_t host; /* of the set */
};

struct ft_groups_block *ft_groups_block_create(struct ft_pass *pass, const struct ft_group_keys *keys,
                                               struct ft_groups_index *index, void *context);
void ft_groups_block_destroy(struct ft_groups_block *block);
/* Forgets the block before, and takes these rows. */
void ft_groups_block_read(struct ft_groups_block *block, size_t reader, const struct ft_rows *rows);

#endif
