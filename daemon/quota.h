// SPDX-License-Identifier: MIT
//
// What a process costs the daemon in memory, charged to its user. What every ordinary process needs is free; who passes
// the user's share loses names first, then is read no more.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_QUOTA_H
#define FT_DAEMON_QUOTA_H

#include "daemon/job.h"

enum { FT_QUOTA_FREE_BYTES = 128 << 10, FT_QUOTA_PROCESS_BYTES = 200 << 10 };
// All that a process may have on nobody's account: flowtapd(8) adds it up.
_Static_assert(FT_QUOTA_FREE_BYTES + FT_HELLO_PAGES * FT_PAGE_BYTES + sizeof(struct ft_process) <=
                   FT_QUOTA_PROCESS_BYTES,
               "memory of a process");

size_t ft_quota_memory(const struct ft_process *process);

// Charges what it has more than at the last time. False where it may be read no more.
bool ft_quota_settle(struct ft_job *job, struct ft_process *process);

#endif
