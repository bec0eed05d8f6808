// SPDX-License-Identifier: MIT
//
// Events added up before they are written: one row for each thread, context, file, second file and call (or name and
// category) of a PROFILE frame. Internal to the writer.
//
// A row's start is that of its first event, its dur_ns the sum of durations, its arg the number of events, its bytes the
// sum, its result the number of errors, and its size the time from its start to the end of its last event, ns.
#ifndef FT_PROTO_TRACE_PROFILE_H
#define FT_PROTO_TRACE_PROFILE_H

#include <stdint.h>

#include "proto/trace_aggregate.h"

struct ft_profile {
    struct ft_event *rows;
    size_t count, cap;
    uint32_t *buckets; // row number + 1; open addressing, at most half full
    size_t bucket_count;
    uint32_t last; // row of the event before
    uint64_t events;
    struct ft_aggregator *aggregator;
    struct ft_trace_aggregate *last_total; // that row `last` counts to; NULL: to be looked up
    bool has_many_keys;                    // too many for totals in the head
};

// Adds an event, whose ids the writer has checked and whose files are of these classes. 0 or -ENOMEM, and nothing changed.
int ft_profile_add(struct ft_profile *profile, const struct ft_event *event, uint8_t file_class, uint8_t file2_class);
// The same of an event of the key of the one before, whose ids so are checked; false where it is of another.
bool ft_profile_add_again(struct ft_profile *profile, const struct ft_event *event);
// Forgets the events.
void ft_profile_reset(struct ft_profile *profile);
void ft_profile_fini(struct ft_profile *profile);
size_t ft_profile_memory(const struct ft_profile *profile);

#endif
