// SPDX-License-Identifier: MIT
/*
 * Percentiles of what was counted in powers of two (struct ft_trace_aggregate): the value of the nearest rank, as if those
 * of one bucket were spread evenly over it. So off by less than a factor of two, and exact where all are equal.
 */
#ifndef FT_CLI_ANALYSIS_PERCENTILE_H
#define FT_CLI_ANALYSIS_PERCENTILE_H

#include "proto/trace_record.h"

/* No value is below `min` or above `max`. 0 where nothing was counted. */
uint64_t ft_percentile(const uint64_t buckets[FT_LOG2_BUCKETS], unsigned percent, uint64_t min, uint64_t max);

#endif
