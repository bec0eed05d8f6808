// SPDX-License-Identifier: MIT
/*
 * The figures of groups of events: what `flowtap summary --by` prints. Counts, bytes and sums of time are as in a summary;
 * unions are over the events of a group alone. Memory goes with groups, threads and what blocks have in common.
 */
#ifndef FT_CLI_ANALYSIS_GROUPS_H
#define FT_CLI_ANALYSIS_GROUPS_H

#include "client/cli/analysis_calls.h"
#include "client/cli/analysis_intervals.h"
#include "client/cli/group_keys.h"
#include "client/trace/filter.h"

enum ft_group_way { FT_GROUP_READS, FT_GROUP_WRITES, FT_GROUP_METADATAS, FT_GROUP_OTHERS, FT_GROUP_WAYS };

/* More are refused: some 3 KB each. */
enum { FT_GROUPS_MAX = 250000 };

struct ft_group_sums {
    uint64_t events, calls, spans;
    uint64_t time_ns;                  /* of all events */
    struct ft_sum ways[FT_GROUP_WAYS]; /* metadata: without bytes */
    int64_t first_ns, last_ns;         /* since the epoch; first start, last end */
};

struct ft_group {
    uint32_t values[FT_GROUP_KEYS_MAX]; /* of ft_group_keys */
    struct ft_group_sums sums;
    int64_t owned_ns;            /* time of threads in events of this group, without what went on inside them */
    struct ft_sweep sweep, busy; /* busy: all events, as FT_SWEEP_IO */
};

struct ft_groups {
    struct ft_group_keys *keys;
    struct ft_group *items; /* in order of their values */
    size_t count, space;
    bool are_too_many; /* and none is here */
    uint64_t bad_blocks;
};

/* Of the events that `where` chooses; NULL: all. `keys` are bound to the set, and must live longer. */
void ft_groups_read(struct ft_groups *groups, struct ft_group_keys *keys, const struct ft_trace_set *set,
                    const struct ft_where *where);
void ft_groups_fini(struct ft_groups *groups);

#endif
