// SPDX-License-Identifier: MIT
//
// What a worker does for a job each time it is its turn: look at the segments that are due, write a block where one is
// due, finish processes that are over, and say when it wants to be called again.
#ifndef FT_DAEMON_PASS_H
#define FT_DAEMON_PASS_H

#include "daemon/job.h"

void ft_pass_run(struct ft_job *job);

#endif
