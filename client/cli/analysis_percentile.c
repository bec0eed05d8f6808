// SPDX-License-Identifier: MIT
#include "client/cli/analysis_percentile.h"

static uint64_t between(uint64_t low, uint64_t high, uint64_t rank, uint64_t count)
{
    /* ranks 1 .. count stand in the middles of as many equal parts */
    unsigned __int128 width = high - low;
    return low + (uint64_t)(width * (2 * (unsigned __int128)rank - 1) / (2 * (unsigned __int128)count));
}

uint64_t ft_percentile(const uint64_t buckets[FT_LOG2_BUCKETS], unsigned percent, uint64_t min, uint64_t max)
{
    unsigned __int128 all = 0;
    for (unsigned b = 0; b < FT_LOG2_BUCKETS; b++) {
        all += buckets[b];
    }
    uint64_t rank = (uint64_t)((all * percent + 99) / 100);
    for (unsigned b = 0; b < FT_LOG2_BUCKETS && all > 0; b++) {
        if (buckets[b] < rank) {
            rank -= buckets[b];
            continue;
        }
        uint64_t low = b ? UINT64_C(1) << (b - 1) : 0, high = b == 64 ? UINT64_MAX : (UINT64_C(1) << b) - 1;
        low = low < min ? min : low;
        high = high > max ? max : high;
        return high <= low ? low : between(low, high, rank ? rank : 1, buckets[b]);
    }
    return 0;
}
