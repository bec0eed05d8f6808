// SPDX-License-Identifier: MIT
//
// What each user has of the daemon: processes attached, jobs open, bytes taken on the daemon's account. Any thread; one lock.
//
// Of the bytes, all users together have a share, too, and none may have more than is left then for all others: however
// many have come before, who comes finds something. n users who want all that there is have one part each of n + 1.
#ifndef FT_DAEMON_USERS_H
#define FT_DAEMON_USERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ft_user {
    uint32_t uid;
    uint32_t processes, jobs;
    uint64_t bytes;
    uint64_t found_bytes;                       // in the spool, when it was looked at last
    uint64_t written_bytes;                     // since the daemon began
    uint64_t written_at_look, written_at_found; // what that was when a look began; when the last one that is over did
};

struct ft_config;

struct ft_users_limits {
    uint32_t processes; // of one user
    uint64_t bytes;     // likewise
    uint64_t all_bytes; // of all together
    uint64_t job_bytes; // of the open jobs of one user
    uint64_t all_job_bytes;
};

struct ft_users {
    pthread_mutex_t lock;
    struct ft_user *users;
    size_t count;
    uint64_t bytes;     // of all
    uint32_t job_users; // who have jobs open
    struct ft_users_limits limits;
};

struct ft_users_limits ft_users_limits_of(const struct ft_config *config);
void ft_users_init(struct ft_users *users, const struct ft_users_limits *limits);
// From now on; who has more keeps it.
void ft_users_set_limits(struct ft_users *users, const struct ft_users_limits *limits);
void ft_users_fini(struct ft_users *users);

// False where the user has its share already; else to be given back.
bool ft_users_take_process(struct ft_users *users, uint32_t uid);
void ft_users_give_process(struct ft_users *users, uint32_t uid);
bool ft_users_take_bytes(struct ft_users *users, uint32_t uid, uint64_t bytes);
void ft_users_give_bytes(struct ft_users *users, uint32_t uid, uint64_t bytes);
// What was taken by a daemon before us is there, whatever the limits are. False without memory.
bool ft_users_keep_bytes(struct ft_users *users, uint32_t uid, uint64_t bytes);
// Of all users.
uint64_t ft_users_bytes(struct ft_users *users);

// Jobs that are open; their number is limited elsewhere.
void ft_users_add_job(struct ft_users *users, uint32_t uid);
void ft_users_remove_job(struct ft_users *users, uint32_t uid);
uint32_t ft_users_jobs(struct ft_users *users, uint32_t uid);
// What one of them may have of memory: each user with jobs has an equal part of all, and each of its jobs of that.
uint64_t ft_users_job_bytes(struct ft_users *users, uint32_t uid);

// What a user has in the spool: what was written, and from the first look on what was there before.
void ft_users_add_written(struct ft_users *users, uint32_t uid, uint64_t bytes);
uint64_t ft_users_stored(struct ft_users *users, uint32_t uid);
// A look begins, one at a time; what it found of all users, in place of what the last one did.
void ft_users_begin_look(struct ft_users *users);
void ft_users_end_look(struct ft_users *users);
void ft_users_add_found(struct ft_users *users, uint32_t uid, uint64_t bytes); // behind the end of the look
// Whether somebody has so much. The loop asks more often then.
bool ft_users_any_stored(struct ft_users *users, uint64_t bytes);

// Copies of what each user has; returns how many were copied, `room` at most.
size_t ft_users_list(struct ft_users *users, struct ft_user *out, size_t room);

#endif
