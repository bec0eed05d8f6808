// SPDX-License-Identifier: MIT
//
// Files in the trace: from what the shim named to FILE records, and what calls tell of files beside themselves.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_FILES_H
#define FT_DAEMON_FILES_H

#include "daemon/drain.h"
#include "daemon/record.h"

// FILE id in the drain's file for a name of the segment; 0 where it cannot be had.
uint32_t ft_files_id(struct ft_drain *drain, struct ft_process *process, struct ft_name *name);

// A call made its path a descriptor's name: kind and inode are known now.
void ft_files_learn_kind(struct ft_drain *drain, struct ft_process *process, const struct ft_record_event *record);

// What was closed.
void ft_files_learn(struct ft_drain *drain, struct ft_process *process, const struct ft_record_event *record);

#endif
