// SPDX-License-Identifier: MIT
/*
 * Whose a thread's time is. A call inside a call, or inside a span, is in the time of both; here a moment belongs to one
 * event alone, the innermost: of those that go on in the thread, the one that ends first; of several such, the one that
 * began last; of those, the one that was recorded first.
 *
 * A list tells that for a part of a thread's events: segments in order of time, which do not overlap. The lists of two
 * parts combine to that of both, in any order of the parts.
 */
#ifndef FT_CLI_ANALYSIS_OWNED_H
#define FT_CLI_ANALYSIS_OWNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ft_owned {
    int64_t start, end;             /* of the segment */
    int64_t event_start, event_end; /* of its event */
    uint32_t group;
};

struct ft_owned_list {
    struct ft_owned *items;
    size_t count, space;
};

/*
 * Makes a list from events in order of start: a begin, one add for each, then the end. It stands in `list` from `first` on,
 * behind those that were made since the last clear.
 */
struct ft_owned_maker {
    struct ft_owned_list list, going_on; /* the latter: innermost last */
    size_t first;
    int64_t now;
};

void ft_owned_clear(struct ft_owned_maker *maker);
void ft_owned_begin(struct ft_owned_maker *maker);
void ft_owned_add(struct ft_owned_maker *maker, int64_t start, int64_t end, uint32_t group);
void ft_owned_end(struct ft_owned_maker *maker);
void ft_owned_maker_fini(struct ft_owned_maker *maker);

/*
 * Both lists into `out`, which begins empty. `earlier` was recorded before `later`. `lost` is told of each piece of time
 * that the other list's event has.
 */
void ft_owned_combine(const struct ft_owned_list *earlier, const struct ft_owned_list *later, struct ft_owned_list *out,
                      void (*lost)(void *context, uint32_t group, int64_t ns), void *context);
void ft_owned_append(struct ft_owned_list *list, const struct ft_owned *segment);
/* How many, from the first on, end at `until` at the latest, and how many begin before it. */
size_t ft_owned_ended(const struct ft_owned_list *list, int64_t until);
size_t ft_owned_begun(const struct ft_owned_list *list, int64_t until);
void ft_owned_fini(struct ft_owned_list *list);

#endif
