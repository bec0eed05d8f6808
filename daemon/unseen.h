// SPDX-License-Identifier: MIT
//
// Processes that are not in any trace: each is a gap in one of its user, which is made where there is none.
//
// The loop's.
#ifndef FT_DAEMON_UNSEEN_H
#define FT_DAEMON_UNSEEN_H

#include <stdint.h>

struct ft_client;
struct ft_daemon;

// A process of `uid` was not admitted. `reason` is static.
void ft_unseen_note_refused(struct ft_daemon *daemon, uint32_t uid, uint32_t pid, const char *reason);

// Who had connected, sent nothing, and is closed; or has ended, or given up, by itself (kind not_attached). Nothing where that
// was no program of ours.
void ft_unseen_note_closed(struct ft_daemon *daemon, uint32_t uid, uint32_t pid, const struct ft_client *client,
                           const char *reason);
void ft_unseen_note_silent(struct ft_daemon *daemon, uint32_t uid, uint32_t pid, const struct ft_client *client);

// One that a daemon before us had taken in and was lost with it: in the job of that folder (stored_name.h; 0 not known)
// where it is here. Before any job has been run.
void ft_unseen_note_lost(struct ft_daemon *daemon, uint32_t uid, uint32_t pid, uint64_t folder);

// The private daemon before this one was killed (killed_by): a gap that stands for what nobody knows of.
void ft_unseen_note_killed(struct ft_daemon *daemon);

#endif
