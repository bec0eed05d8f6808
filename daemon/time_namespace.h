// SPDX-License-Identifier: MIT
//
// A process that tells its times in nanoseconds of CLOCK_MONOTONIC (proto/ring.h, FT_CLOCK_MONOTONIC_NS) tells those of its
// time namespace. Ticks of the counter are the same everywhere.
#ifndef FT_DAEMON_TIME_NAMESPACE_H
#define FT_DAEMON_TIME_NAMESPACE_H

#include <stdint.h>

struct ft_hello;

// How far the clock of `pid`, which says that of itself, is before ours. 0 where it is the same one, or nothing is known.
int64_t ft_time_namespace_ahead_ns(uint32_t pid, const struct ft_hello *hello_untrusted);

#endif
