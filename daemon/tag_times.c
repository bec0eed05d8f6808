// SPDX-License-Identifier: MIT
#include "daemon/tag_times.h"

#include <stdlib.h>
#include <string.h>

size_t ft_tag_set_key_bytes(const struct ft_name *name)
{
    const char *equals = memchr(name->text, '=', name->bytes_got);
    return equals ? (size_t)(equals - name->text) : name->bytes_got;
}

static bool is_same_key(const struct ft_name *a, const struct ft_name *b)
{
    size_t bytes = ft_tag_set_key_bytes(a);
    return bytes == ft_tag_set_key_bytes(b) && memcmp(a->text, b->text, bytes) == 0;
}

void ft_tag_set_give_up(struct ft_names *names, struct ft_name *tag)
{
    tag->closed_in = 1;
    if (tag->is_told)
        ft_names_note_fresh(names, tag->id);
}

uint32_t ft_tag_set_replace(struct ft_names *names, uint32_t *set, uint32_t count, uint32_t room, uint32_t string)
{
    struct ft_name *tag = ft_names_find(names, string);
    if (!tag)
        return count;
    for (uint32_t i = 0; i < count; i++) {
        struct ft_name *other = ft_names_find(names, set[i]);
        if (other && !is_same_key(tag, other))
            continue;
        if (other && other != tag)
            ft_tag_set_give_up(names, other);
        memmove(set + i, set + i + 1, (count - i - 1) * sizeof(*set));
        count--;
        break;
    }
    if (count < room && ft_tag_set_key_bytes(tag) + 1 < tag->bytes_got)
        set[count++] = string;
    else
        ft_tag_set_give_up(names, tag);
    return count;
}

void ft_tag_times_fini(struct ft_tag_times *times)
{
    free(times->sets);
    free(times->ids);
    memset(times, 0, sizeof(*times));
}

// The older half goes.
static void forget_old(struct ft_tag_times *times)
{
    uint32_t gone = times->set_count / 2, ids_gone = times->sets[gone].first;
    times->set_count -= gone;
    times->id_count -= ids_gone;
    memmove(times->sets, times->sets + gone, times->set_count * sizeof(*times->sets));
    memmove(times->ids, times->ids + ids_gone, times->id_count * sizeof(*times->ids));
    for (uint32_t i = 0; i < times->set_count; i++)
        times->sets[i].first -= ids_gone;
    times->sets[0].from_ticks = 0;
}

// Room for one more set, of FT_PROCESS_TAGS_MAX ids; false where there is no memory.
static bool make_room(struct ft_tag_times *times)
{
    while (times->set_count == FT_TAG_TIMES_SETS_MAX ||
           (times->set_count > 1 && times->id_count > FT_TAG_TIMES_IDS_MAX - FT_PROCESS_TAGS_MAX))
        forget_old(times);
    if (times->set_count == times->set_room) {
        uint32_t room = times->set_room ? times->set_room * 2 : 4;
        struct ft_tag_set *sets = realloc(times->sets, room * sizeof(*sets));
        if (!sets)
            return false;
        times->sets = sets;
        times->set_room = room;
    }
    if (times->id_room - times->id_count < FT_PROCESS_TAGS_MAX) {
        uint32_t room = times->id_room ? times->id_room * 2 : 2 * FT_PROCESS_TAGS_MAX;
        uint32_t *ids = realloc(times->ids, room * sizeof(*ids));
        if (!ids)
            return false;
        times->ids = ids;
        times->id_room = room;
    }
    return true;
}

// A copy of the newest set, behind it; the first one is empty, and holds from the beginning.
static struct ft_tag_set *push_copy(struct ft_tag_times *times)
{
    uint32_t count;
    const uint32_t *newest = ft_tag_times_newest(times, &count);
    struct ft_tag_set *set = &times->sets[times->set_count];
    *set = (struct ft_tag_set){.first = times->id_count, .count = count};
    if (count)
        memcpy(times->ids + set->first, newest, count * sizeof(*newest));
    times->id_count += count;
    times->set_count++;
    return set;
}

bool ft_tag_times_change(struct ft_tag_times *times, struct ft_names *names, uint32_t string, uint64_t from_ticks)
{
    struct ft_name *name = ft_names_find(names, string);
    if (!name || name->is_tag_of_process)
        return false;
    if (!make_room(times))
        return false;
    if (!times->set_count) {
        push_copy(times);
        if (!make_room(times))
            return false;
    }
    uint64_t newest_ticks = times->sets[times->set_count - 1].from_ticks;
    name->is_tag_of_process = true;
    name->tag_ticks = from_ticks > newest_ticks ? from_ticks : newest_ticks;
    struct ft_tag_set *set = push_copy(times);
    set->from_ticks = name->tag_ticks;
    uint32_t count = ft_tag_set_replace(names, times->ids + set->first, set->count, FT_PROCESS_TAGS_MAX, string);
    times->id_count = times->id_count - set->count + count;
    set->count = count;
    return true;
}

void ft_tag_times_restore(struct ft_tag_times *times, const uint32_t *ids, size_t count)
{
    times->set_count = times->id_count = 0;
    if (!count || !make_room(times))
        return;
    struct ft_tag_set *set = push_copy(times);
    set->count = count < FT_PROCESS_TAGS_MAX ? (uint32_t)count : FT_PROCESS_TAGS_MAX;
    memcpy(times->ids, ids, set->count * sizeof(*ids));
    times->id_count = set->count;
}

const struct ft_tag_set *ft_tag_times_at(const struct ft_tag_times *times, uint64_t ticks)
{
    uint32_t low = 0, high = times->set_count; // the last one at or before `ticks` is in [low, high)
    if (!high)
        return NULL;
    if (times->sets[high - 1].from_ticks <= ticks)
        return &times->sets[high - 1];
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (times->sets[middle].from_ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    return &times->sets[low];
}

const uint32_t *ft_tag_times_newest(const struct ft_tag_times *times, uint32_t *count)
{
    const struct ft_tag_set *set = ft_tag_times_at(times, UINT64_MAX);
    *count = set ? set->count : 0;
    return set ? times->ids + set->first : NULL;
}

size_t ft_tag_times_memory(const struct ft_tag_times *times)
{
    return times->set_room * sizeof(*times->sets) + times->id_room * sizeof(*times->ids);
}
