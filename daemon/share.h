// SPDX-License-Identifier: MIT
//
// What open jobs take of memory between their passes: each has its user's max_user_jobs_memory, or the user's part of
// max_jobs_memory where that is less, divided by the number of the user's jobs. Buffers and caches beyond that are given
// back after a pass. Names and what else grows with the file are not: there the next file begins, once a second at most.
// So few jobs have all that they want, and many together no more than those limits, or than FT_SHARE_MIN_BYTES each.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_SHARE_H
#define FT_DAEMON_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ft_job;

enum { FT_SHARE_MIN_BYTES = 128 << 10 }; // flowtapd(8) adds it up

size_t ft_share_bytes(const struct ft_job *job);
// At the end of a pass.
void ft_share_keep(struct ft_job *job);
// Whether the file is to be followed by another one, since what grows with it is over the share.
bool ft_share_wants_next(const struct ft_job *job, int64_t now_ns);

#endif
