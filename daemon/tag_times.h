// SPDX-License-Identifier: MIT
//
// Tags of a whole process, by time. One thread sets them and all have them, but each thread's records come by themselves:
// which tags stand on an event is known by when it began. So the sets that held lately are kept, each from a point in the
// process's own clock on.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_TAG_TIMES_H
#define FT_DAEMON_TAG_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/names.h"
#include "proto/settings.h"

enum {
    FT_PROCESS_TAGS_MAX = FT_SETTING_TAGS_MAX,
    FT_TAG_TIMES_SETS_MAX = 16384, // older ones are forgotten: the oldest one kept then holds for what was before, too
    FT_TAG_TIMES_IDS_MAX = 65536,
};

struct ft_tag_set {
    uint64_t from_ticks;
    uint32_t first, count; // of the ids
};

struct ft_tag_times {
    struct ft_tag_set *sets; // by from_ticks; none: there was never a tag
    uint32_t set_count, set_room;
    uint32_t *ids; // of strings "key=value"
    uint32_t id_count, id_room;
};

void ft_tag_times_fini(struct ft_tag_times *times);

// The newest set with this string in place of the tag with the same key (an empty value only takes that away), from then
// on. What comes out of order counts from where the newest one does. A string is one change: the second time, nothing
// happens. Its name says from when it holds. Whether it changed anything.
bool ft_tag_times_change(struct ft_tag_times *times, struct ft_names *names, uint32_t string, uint64_t from_ticks);

// What a daemon before us knew.
void ft_tag_times_restore(struct ft_tag_times *times, const uint32_t *ids, size_t count);

// The set that held then; NULL where there was never a tag. It stays where it is until the next change.
const struct ft_tag_set *ft_tag_times_at(const struct ft_tag_times *times, uint64_t ticks);

// The newest one: ids of *count strings.
const uint32_t *ft_tag_times_newest(const struct ft_tag_times *times, uint32_t *count);

size_t ft_tag_times_memory(const struct ft_tag_times *times);

// Puts `string` into a set in place of the tag with the same key; an empty value only takes that away. The new count.
uint32_t ft_tag_set_replace(struct ft_names *names, uint32_t *set, uint32_t count, uint32_t room, uint32_t string);

// A tag's string is that tag's alone: when it holds no more, the string may go before all others.
void ft_tag_set_give_up(struct ft_names *names, struct ft_name *tag);

// Bytes of "key" in "key=value".
size_t ft_tag_set_key_bytes(const struct ft_name *name);

#endif
