// SPDX-License-Identifier: MIT
/* Of reads and writes, what is known of all, and what of the stored ones alone. */
#include "client/cli/summary.h"

/* Of nothing all is known; of calls that were all dropped, sums alone. */
static bool has_stored(const struct ft_sum *all, const struct ft_sum *dropped)
{
    return all->count == 0 || all->count > dropped->count;
}

static uint64_t add_up(const uint64_t *sizes, unsigned from, unsigned to)
{
    uint64_t count = 0;
    for (unsigned b = from; b <= to; b++) {
        count += sizes[b];
    }
    return count;
}

void ft_summary_side(const struct ft_summary *summary, bool is_write, struct ft_summary_side *side)
{
    const struct ft_calls *calls = &summary->calls;
    const struct ft_sum *all = is_write ? &calls->write : &calls->read;
    const struct ft_sum *dropped = is_write ? &calls->dropped_write : &calls->dropped_read;
    const uint64_t *sizes = is_write ? calls->write_sizes : calls->read_sizes;
    uint64_t late = is_write ? calls->late.write : calls->late.read;
    uint64_t dropped_late = is_write ? calls->dropped_late.write : calls->dropped_late.read;
    *side = (struct ft_summary_side){
        .timed_bytes = all->bytes - dropped->bytes - (late - dropped_late),
        .all = *all,
        .dropped = dropped->count,
        .stored = ft_sum_without(all, dropped),
        .busy_ns = summary->scan.sweep.totals.total_ns[is_write ? FT_SWEEP_WRITE : FT_SWEEP_READ],
        .knows_times = ft_summary_knows_times(summary) && has_stored(all, dropped),
        .sized = add_up(sizes, 0, FT_LOG2_BUCKETS - 1),
        .small = add_up(sizes, 1, FT_SUMMARY_SMALL_BITS),
        .empty = sizes[0],
    };
}

bool ft_summary_knows_io_times(const struct ft_summary *summary)
{
    return ft_summary_knows_times(summary) && ft_calls_know_io_times(&summary->calls);
}
