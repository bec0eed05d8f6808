// SPDX-License-Identifier: MIT
/*
 * Calls of one block as words: start, duration, what the call moved, from the highest bits to the lowest. So they are put
 * in order as plain numbers, in a fixed number of passes, whatever they are; and their unions over time are summed up
 * without being written down. What does not fit a word (a call of minutes) is the caller's to keep elsewhere.
 */
#ifndef FT_CLI_ANALYSIS_PACKED_H
#define FT_CLI_ANALYSIS_PACKED_H

#include "client/cli/analysis_intervals.h"

enum { FT_PACKED_READ = 1, FT_PACKED_WRITE = 2, FT_PACKED_MOVED_BITS = 2 };

/* Of calls that begin at or after start_ns and end at end_ns at the latest; neither needs to be true. */
struct ft_packed_form ft_packed_form_of(int64_t start_ns, int64_t end_ns);

/* Puts them in order of start into `to` or `spare`: which, it returns. `spare` may be where they are. */
uint64_t *ft_packed_sort(const uint64_t *items, size_t count, struct ft_packed_form form, uint64_t *to,
                         uint64_t *spare);
bool ft_packed_is_sorted(const uint64_t *items, size_t count);

/* Where the first of them begins. There is one. */
int64_t ft_packed_start(const struct ft_packed *calls);
/* Lengths of the unions of the kinds of calls, IO to MOVE. Fills in what `reached` points to. */
void ft_packed_measure(const struct ft_packed *calls, int64_t total_ns[FT_SWEEP_COUNT]);
/* Length of what all calls, whose union is `total_ns` long, have in common with a normal list. */
int64_t ft_packed_common(const struct ft_packed *calls, int64_t total_ns, const struct ft_intervals *list);
/*
 * Appends the union of one kind, as far as it lies in [from, to), as a normal list. `to` is empty or ends below. Calls that
 * are not apart have been measured, unless all are wanted.
 */
void ft_packed_copy(const struct ft_packed *calls, enum ft_sweep_kind kind, int64_t from, int64_t to_ns,
                    struct ft_intervals *to);

/* Whether a call fits: its start since the form's base. */
static inline bool ft_packed_fits(struct ft_packed_form form, uint64_t start, uint64_t dur)
{
    return (start <= form.start_most) & (dur <= form.dur_most);
}

static inline uint64_t ft_packed_word(struct ft_packed_form form, uint64_t start, uint64_t dur, unsigned moved)
{
    return start * form.start_unit + (dur << FT_PACKED_MOVED_BITS | moved);
}

#endif
