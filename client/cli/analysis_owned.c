// SPDX-License-Identifier: MIT
#include "client/cli/analysis_owned.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

static bool is_one_event(const struct ft_owned *a, const struct ft_owned *b)
{
    return a->event_start == b->event_start && a->event_end == b->event_end && a->group == b->group;
}

static __attribute__((noinline)) void grow(struct ft_owned_list *list)
{
    list->space = list->space ? list->space * 2 : 16;
    list->items = ft_cli_realloc(list->items, list->space, sizeof(*list->items));
}

/* To the list that begins at `first`. */
static inline void append(struct ft_owned_list *list, size_t first, struct ft_owned segment)
{
    struct ft_owned *last = list->count > first ? &list->items[list->count - 1] : NULL;
    if (segment.end <= segment.start) {
        return;
    }
    if (last && last->end == segment.start && is_one_event(last, &segment)) {
        last->end = segment.end;
        return;
    }
    if (list->count == list->space) {
        grow(list);
    }
    list->items[list->count++] = segment;
}

void ft_owned_append(struct ft_owned_list *list, const struct ft_owned *segment)
{
    append(list, 0, *segment);
}

size_t ft_owned_ended(const struct ft_owned_list *list, int64_t until)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].end <= until) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

size_t ft_owned_begun(const struct ft_owned_list *list, int64_t until)
{
    size_t ended = ft_owned_ended(list, until);
    return ended + (ended < list->count && list->items[ended].start < until);
}

void ft_owned_fini(struct ft_owned_list *list)
{
    free(list->items);
    memset(list, 0, sizeof(*list));
}

void ft_owned_clear(struct ft_owned_maker *maker)
{
    maker->list.count = 0;
}

void ft_owned_begin(struct ft_owned_maker *maker)
{
    maker->first = maker->list.count;
    maker->going_on.count = 0;
    maker->now = INT64_MIN;
}

/* Gives the time up to `until` to those that go on. */
static void advance(struct ft_owned_maker *maker, int64_t until)
{
    struct ft_owned_list *going_on = &maker->going_on;
    while (going_on->count > 0 && maker->now < until) {
        struct ft_owned segment = going_on->items[going_on->count - 1];
        segment.start = maker->now;
        segment.end = segment.event_end < until ? segment.event_end : until;
        append(&maker->list, maker->first, segment);
        maker->now = segment.end > maker->now ? segment.end : maker->now;
        going_on->count -= segment.event_end <= until;
    }
    maker->now = until;
}

/* Whether `b`, which was recorded later, lies inside `a`. */
static bool is_inside(const struct ft_owned *b, const struct ft_owned *a)
{
    return b->event_end != a->event_end ? b->event_end < a->event_end : b->event_start > a->event_start;
}

void ft_owned_add(struct ft_owned_maker *maker, int64_t start, int64_t end, uint32_t group)
{
    struct ft_owned event = {.start = start, .end = end, .event_start = start, .event_end = end, .group = group};
    struct ft_owned_list *going_on = &maker->going_on;
    if (end <= start) {
        return;
    }
    if (going_on->count == 1 && going_on->items->event_end <= start) { /* as most are: nothing is inside of anything */
        struct ft_owned *before = going_on->items;
        int64_t until = before->event_end > maker->now ? before->event_end : maker->now;
        append(&maker->list, maker->first,
               (struct ft_owned){.start = maker->now,
                                 .end = until,
                                 .event_start = before->event_start,
                                 .event_end = before->event_end,
                                 .group = before->group});
        maker->now = start;
        before->event_start = start;
        before->event_end = end;
        before->group = group;
        return;
    }
    advance(maker, start);
    size_t at = going_on->count;
    while (at > 0 && !is_inside(&event, &going_on->items[at - 1])) {
        at--;
    }
    event.end = INT64_MAX; /* so that no two are joined */
    event.start = INT64_MIN;
    append(going_on, 0, event);
    memmove(&going_on->items[at + 1], &going_on->items[at], (going_on->count - 1 - at) * sizeof(event));
    going_on->items[at] = event;
}

void ft_owned_end(struct ft_owned_maker *maker)
{
    advance(maker, INT64_MAX);
}

void ft_owned_maker_fini(struct ft_owned_maker *maker)
{
    ft_owned_fini(&maker->list);
    ft_owned_fini(&maker->going_on);
}

/* The next segment of a list, or what is left of it. */
struct source {
    const struct ft_owned_list *list;
    size_t at;
    struct ft_owned now;
};

static bool has_more(const struct source *source)
{
    return source->at < source->list->count;
}

static void load(struct source *source)
{
    if (has_more(source)) {
        source->now = source->list->items[source->at];
    }
}

/* Takes the segment up to `until`, which lies in it. */
static struct ft_owned take(struct source *source, int64_t until)
{
    struct ft_owned taken = source->now;
    taken.end = until;
    source->now.start = until;
    if (source->now.start >= source->now.end) {
        source->at++;
        load(source);
    }
    return taken;
}

void ft_owned_combine(const struct ft_owned_list *earlier, const struct ft_owned_list *later, struct ft_owned_list *out,
                      void (*lost)(void *context, uint32_t group, int64_t ns), void *context)
{
    struct source a = {.list = earlier}, b = {.list = later};
    load(&a);
    load(&b);
    while (has_more(&a) && has_more(&b)) {
        struct source *first = b.now.start < a.now.start ? &b : &a, *second = first == &a ? &b : &a;
        if (first->now.start < second->now.start) {
            int64_t until = first->now.end < second->now.start ? first->now.end : second->now.start;
            struct ft_owned alone = take(first, until);
            append(out, 0, alone);
            continue;
        }
        int64_t until = a.now.end < b.now.end ? a.now.end : b.now.end;
        bool is_later = is_inside(&b.now, &a.now);
        struct ft_owned from_a = take(&a, until), from_b = take(&b, until);
        append(out, 0, is_later ? from_b : from_a);
        lost(context, is_later ? from_a.group : from_b.group, until - from_a.start);
    }
    for (struct source *left = has_more(&a) ? &a : &b; has_more(left);) {
        struct ft_owned alone = take(left, left->now.end);
        append(out, 0, alone);
    }
}
