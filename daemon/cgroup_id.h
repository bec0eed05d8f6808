// SPDX-License-Identifier: MIT
//
// The kernel's number of a process's cgroup, which a pidfd tells (6.13) even when the process has been reaped (6.15).
#ifndef FT_DAEMON_CGROUP_ID_H
#define FT_DAEMON_CGROUP_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/trace_record.h"

// 0 where the kernel does not tell it.
uint64_t ft_cgroup_id_of(int pidfd);

// Whether a line of the unified hierarchy ("0::/path"), which anybody may have written, names the cgroup of this number.
bool ft_cgroup_id_is(uint64_t id, struct ft_bytes line_untrusted);

#endif
