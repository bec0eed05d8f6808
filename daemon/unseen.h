// SPDX-License-Identifier: MIT
//
// Processes that are not in any trace: each is a gap in one of its user, which is made where there is none.
//
// The loop's.
#ifndef FT_DAEMON_UNSEEN_H
#define FT_DAEMON_UNSEEN_H

#include <stdint.h>

struct ft_daemon;

// A process of `uid` was not admitted. `reason` is static.
void ft_unseen_note_refused(struct ft_daemon *daemon, uint32_t uid, uint32_t pid, const char *reason);

// One that a daemon before us had taken in and was lost with it: in the job of that folder (stored_name.h; 0 not known)
// where it is here. Before any job has been run.
void ft_unseen_note_lost(struct ft_daemon *daemon, uint32_t uid, uint32_t pid, uint64_t folder);

// The private daemon before this one was killed (killed_by): a gap that stands for what nobody knows of.
void ft_unseen_note_killed(struct ft_daemon *daemon);

#endif
