// SPDX-License-Identifier: MIT
/*
 * Unions of intervals over time.
 *
 * Intervals are half open, [start, end), in nanoseconds; empty ones add nothing. A list is "normal" when its intervals
 * are in order and neither overlap nor touch.
 *
 * A sweep takes the normal lists of blocks in descending order of the blocks' ends, and keeps only what later lists
 * could still touch: after a block, everything above the end of the next one (the watermark) is final and is summed up
 * and dropped. Backwards, because a call is recorded when it ends: a block's last end lies near its neighbours', while
 * its first start may be that of a call which waited for an hour.
 */
#ifndef FT_CLI_ANALYSIS_INTERVALS_H
#define FT_CLI_ANALYSIS_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ft_interval {
    int64_t start, end;
};

struct ft_intervals {
    struct ft_interval *items;
    size_t count, space;
};

void ft_intervals_fini(struct ft_intervals *list);
void ft_intervals_append(struct ft_intervals *list, int64_t start, int64_t end);
/* Appends; joins with the last one where they overlap and the order allows it. */
static inline __attribute__((always_inline)) void ft_intervals_add(struct ft_intervals *list, int64_t start,
                                                                   int64_t end)
{
    struct ft_interval *last = list->count ? &list->items[list->count - 1] : NULL;
    if (end <= start) {
        return;
    }
    if (last && start >= last->start && start <= last->end) {
        last->end = end > last->end ? end : last->end;
    } else {
        ft_intervals_append(list, start, end);
    }
}
/* Room for so many more. */
void ft_intervals_reserve(struct ft_intervals *list, size_t count);
/* Any list becomes normal. */
void ft_intervals_normalize(struct ft_intervals *list);
/* Both normal; `list` becomes their union. */
void ft_intervals_merge(struct ft_intervals *list, const struct ft_intervals *other);
/* Sum of the lengths of a normal list. */
int64_t ft_intervals_length(const struct ft_intervals *list);
/* Length of the intersection of two normal lists. */
int64_t ft_intervals_common(const struct ft_intervals *a, const struct ft_intervals *b);
/* The intersection of two normal lists, a new one. */
struct ft_intervals ft_intervals_intersect(const struct ft_intervals *a, const struct ft_intervals *b);
/* First interval of a normal list of which some lies above the mark; the list's count where there is none. */
size_t ft_intervals_above(const struct ft_intervals *list, int64_t mark);

/*
 * IO: calls that count as read, write or metadata. READ, WRITE: those that move data that way. MOVE: either. APP: spans of
 * the application; COMPUTE and APP_IO those of certain categories.
 */
enum ft_sweep_kind {
    FT_SWEEP_IO,
    FT_SWEEP_READ,
    FT_SWEEP_WRITE,
    FT_SWEEP_MOVE,
    FT_SWEEP_APP,
    FT_SWEEP_COMPUTE,
    FT_SWEEP_APP_IO,
    FT_SWEEP_COUNT
};

struct ft_sweep_totals {
    int64_t total_ns[FT_SWEEP_COUNT];
    int64_t io_and_compute_ns, app_io_and_compute_ns;
};

struct ft_sweep {
    struct ft_intervals pending[FT_SWEEP_COUNT];
    struct ft_sweep_totals totals;
};

/* How calls are written as words (analysis_packed.h). */
struct ft_packed_form {
    int64_t base_ns;
    unsigned start_bits, dur_bits;
    uint64_t start_most, dur_most, start_unit; /* the same, as what fits and as what a word is made with */
};

enum { FT_PACKED_MARK_STEP = 64 };

struct ft_packed {
    const uint64_t *items; /* in order of start */
    size_t count;
    struct ft_packed_form form;
    int64_t *
        reached; /* once measured: where the latest of the first n * FT_PACKED_MARK_STEP ends, since the base, n >= 1 */
    unsigned moved; /* what any of them moved */
    bool has_sides; /* whether READ and WRITE are wanted, too */
    /* Whether none begins before the one before it has ended: then sums of their durations tell their unions. */
    bool are_apart;
    int64_t sum_ns, moved_ns; /* of all; of those that moved something */
};

/*
 * What went on in one block, of one process or of all, and for how long. Kinds of calls are packed where there are any
 * such (.calls.count), and normal lists otherwise; the others are lists. They are only read.
 */
struct ft_sweep_block {
    struct ft_packed calls;
    struct ft_intervals lists[FT_SWEEP_COUNT];
    struct ft_sweep_totals totals;
};

void ft_sweep_fini(struct ft_sweep *sweep);
/* Fills in the totals. */
void ft_sweep_block_measure(struct ft_sweep_block *block);
/* Where it begins; INT64_MAX where it is empty. */
int64_t ft_sweep_block_start(const struct ft_sweep_block *block);
/* Adds the next block, and settles. `watermark`: no later block reaches above it; INT64_MIN: there is none. */
void ft_sweep_add(struct ft_sweep *sweep, const struct ft_sweep_block *block, int64_t watermark);
bool ft_sweep_is_empty(const struct ft_sweep *sweep);
/* Where what is pending ends; INT64_MIN where nothing is. */
int64_t ft_sweep_end(const struct ft_sweep *sweep);
/* The same without a block. */
void ft_sweep_settle(struct ft_sweep *sweep, int64_t watermark);
void ft_sweep_totals_add(struct ft_sweep_totals *to, const struct ft_sweep_totals *from);

#endif
