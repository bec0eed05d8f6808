// SPDX-License-Identifier: MIT
//
// Files in the trace: from what the shim named to FILE records, and what calls tell of files beside themselves.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_FILES_H
#define FT_DAEMON_FILES_H

#include "daemon/drain.h"
#include "daemon/record.h"
#include "proto/calls.h"

// FILE id in the drain's file for a name of the segment; 0 where it cannot be had.
uint32_t ft_files_id(struct ft_drain *drain, struct ft_process *process, struct ft_name *name);

// A call made its path a descriptor's name: kind and inode are known now. Before ft_files_id() of it.
void ft_files_learn_opened(struct ft_drain *drain, struct ft_process *process, const struct ft_record_event *record,
                           const struct ft_event *event);

// Whether a call removes, renames or links files.
static inline bool ft_files_is_naming(unsigned call)
{
    return call - FT_CALL_ID_unlink <= FT_CALL_ID_linkat - FT_CALL_ID_unlink || call == FT_CALL_ID_rmdir;
}

// Such a call: which file lies at its paths from then on. After ft_files_id() of the first one, before that of the second.
void ft_files_learn_naming(struct ft_drain *drain, struct ft_process *process, const struct ft_record_event *record,
                           const struct ft_event *event);

// What was closed.
void ft_files_learn(struct ft_drain *drain, struct ft_process *process, const struct ft_record_event *record);

#endif
