// SPDX-License-Identifier: MIT
/* Groups of events, as `flowtap events --by` prints them: how many, bytes, time. */
#ifndef FT_CLI_EVENT_GROUPS_H
#define FT_CLI_EVENT_GROUPS_H

#include "client/cli/group_keys.h"
#include "client/trace/filter.h"

/* More are refused: some 100 bytes each, once for each thread that reads. */
enum { FT_EVENT_GROUPS_MAX = 2000000 };

struct ft_event_group {
    uint32_t values[FT_GROUP_KEYS_MAX]; /* of the keys */
    uint64_t count, bytes, time_ns;
};

struct ft_event_groups {
    const struct ft_group_keys *keys;
    struct ft_event_group *items;
    size_t count;
    bool are_too_many; /* and none is here */
    uint64_t bad_blocks;
};

/* Of the events that `where` chooses; NULL: all. The keys are bound. No order. */
void ft_event_groups_read(struct ft_event_groups *groups, const struct ft_group_keys *keys,
                          const struct ft_trace_set *set, const struct ft_where *where);
void ft_event_groups_fini(struct ft_event_groups *groups);

/*
 * By what groups are put in order: count, bytes, time or one of the keys; with - in front the largest first. NULL: by all
 * keys. Where groups are equal, and at last, all keys decide. 0, or -EINVAL where there is no such one.
 */
int ft_event_groups_sort(struct ft_event_groups *groups, const char *by);
/* The same without groups: whether `by` would do. */
bool ft_event_groups_sorts(const struct ft_group_keys *keys, const char *by);

#endif
