// SPDX-License-Identifier: MIT
/* The shim's clock: ticks, see proto/ring.h. */
#ifndef FT_SHIM_CLOCK_H
#define FT_SHIM_CLOCK_H

#include "client/shim/shim.h"

/* For threads in FT_MODE_SLOW, and where the counter is not the clock. */
uint64_t ft_now_slow(void);

FT_HOT uint64_t ft_now(void)
{
    return ft_likely(ft_thread.mode == FT_MODE_ON) ? ft_ticks() : ft_now_slow();
}

/* Takes the pair of attach; before that, in a new image, finds the vDSO's clock and whether there is a counter. */
void ft_clock_pair(enum ft_image image);
/* Before the counter goes away: learns its rate, so that the coarse clock can be turned to ticks. */
void ft_clock_prepare_coarse(void);
/* CLOCK_MONOTONIC in nanoseconds, by the vDSO where it has one. */
int64_t ft_clock_mono_ns(void);

#endif
