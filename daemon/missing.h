// SPDX-License-Identifier: MIT
//
// Why a process or image that was started is not here: by what its starter's record said (enum ft_follow), by its file,
// by what its starter's segment counted.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_MISSING_H
#define FT_DAEMON_MISSING_H

#include "daemon/children.h"

// FT_GAP_NOT_ATTACHED: nothing is known to stand against it.
struct ft_exe_verdict ft_missing_by_follow(unsigned follow);

// Whose record it is, while that is known here; NULL.
struct ft_process *ft_missing_find_parent(const struct ft_job *job, const struct ft_children_expected *one);

// Takes what `process`, its starter, counted of one like it and did not tell yet.
void ft_missing_take_failure(struct ft_children_expected *one, struct ft_process *process);

// FT_GAP_NOT_ATTACHED: no reason is to be found.
struct ft_exe_verdict ft_missing_find_reason(const struct ft_job *job, struct ft_children_expected *one, bool is_alive);

bool ft_missing_is_alive(const struct ft_children_expected *one);

#endif
