// SPDX-License-Identifier: MIT
#include "daemon/users.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/config.h"

struct ft_users_limits ft_users_limits_of(const struct ft_config *config)
{
    return (struct ft_users_limits){
        .processes = (uint32_t)config->max_processes_per_user,
        .bytes = (uint64_t)config->max_user_memory_bytes,
        .all_bytes = (uint64_t)config->max_memory_bytes,
        .job_bytes = (uint64_t)config->max_user_jobs_memory_bytes,
        .all_job_bytes = (uint64_t)config->max_jobs_memory_bytes,
    };
}

void ft_users_init(struct ft_users *users, const struct ft_users_limits *limits)
{
    memset(users, 0, sizeof(*users));
    pthread_mutex_init(&users->lock, NULL);
    users->limits = *limits;
}

void ft_users_set_limits(struct ft_users *users, const struct ft_users_limits *limits)
{
    pthread_mutex_lock(&users->lock);
    users->limits = *limits;
    pthread_mutex_unlock(&users->lock);
}

void ft_users_fini(struct ft_users *users)
{
    free(users->users);
    pthread_mutex_destroy(&users->lock);
}

// Users of a node are few. NULL where there is no memory.
static struct ft_user *user_of(struct ft_users *users, uint32_t uid)
{
    for (size_t i = 0; i < users->count; i++)
        if (users->users[i].uid == uid)
            return &users->users[i];
    struct ft_user *larger = realloc(users->users, (users->count + 1) * sizeof(*larger));
    if (!larger)
        return NULL;
    users->users = larger;
    larger[users->count] = (struct ft_user){.uid = uid};
    return &larger[users->count++];
}

bool ft_users_take_process(struct ft_users *users, uint32_t uid)
{
    pthread_mutex_lock(&users->lock);
    struct ft_user *user = user_of(users, uid);
    bool is_taken = user && user->processes < users->limits.processes;
    if (is_taken)
        user->processes++;
    pthread_mutex_unlock(&users->lock);
    return is_taken;
}

void ft_users_give_process(struct ft_users *users, uint32_t uid)
{
    pthread_mutex_lock(&users->lock);
    struct ft_user *user = user_of(users, uid);
    if (user && user->processes)
        user->processes--;
    pthread_mutex_unlock(&users->lock);
}

static bool may_take(const struct ft_users *users, const struct ft_user *user, uint64_t bytes)
{
    const struct ft_users_limits *limits = &users->limits;
    uint64_t left = users->bytes < limits->all_bytes ? limits->all_bytes - users->bytes : 0;
    return bytes <= limits->bytes && user->bytes <= limits->bytes - bytes && bytes <= left / 2 &&
           user->bytes <= left - 2 * bytes;
}

bool ft_users_take_bytes(struct ft_users *users, uint32_t uid, uint64_t bytes)
{
    pthread_mutex_lock(&users->lock);
    struct ft_user *user = user_of(users, uid);
    bool is_taken = user && may_take(users, user, bytes);
    if (is_taken) {
        user->bytes += bytes;
        users->bytes += bytes;
    }
    pthread_mutex_unlock(&users->lock);
    return is_taken;
}

bool ft_users_keep_bytes(struct ft_users *users, uint32_t uid, uint64_t bytes)
{
    pthread_mutex_lock(&users->lock);
    struct ft_user *user = user_of(users, uid);
    if (user) {
        user->bytes += bytes;
        users->bytes += bytes;
    }
    pthread_mutex_unlock(&users->lock);
    return user != NULL;
}

void ft_users_give_bytes(struct ft_users *users, uint32_t uid, uint64_t bytes)
{
    pthread_mutex_lock(&users->lock);
    struct ft_user *user = user_of(users, uid);
    uint64_t given = !user ? 0 : bytes < user->bytes ? bytes : user->bytes;
    if (user)
        user->bytes -= given;
    users->bytes -= given;
    pthread_mutex_unlock(&users->lock);
}

uint64_t ft_users_bytes(struct ft_users *users)
{
    pthread_mutex_lock(&users->lock);
    uint64_t bytes = users->bytes;
    pthread_mutex_unlock(&users->lock);
    return bytes;
}

void ft_users_add_job(struct ft_users *users, uint32_t uid)
{
    pthread_mutex_lock(&users->lock);
    struct ft_user *user = user_of(users, uid);
    if (user && user->jobs++ == 0)
        users->job_users++;
    pthread_mutex_unlock(&users->lock);
}

void ft_users_remove_job(struct ft_users *users, uint32_t uid)
{
    pthread_mutex_lock(&users->lock);
    struct ft_user *user = user_of(users, uid);
    if (user && user->jobs && --user->jobs == 0)
        users->job_users--;
    pthread_mutex_unlock(&users->lock);
}

uint32_t ft_users_jobs(struct ft_users *users, uint32_t uid)
{
    pthread_mutex_lock(&users->lock);
    const struct ft_user *user = user_of(users, uid);
    uint32_t jobs = user ? user->jobs : 0;
    pthread_mutex_unlock(&users->lock);
    return jobs;
}

uint64_t ft_users_job_bytes(struct ft_users *users, uint32_t uid)
{
    pthread_mutex_lock(&users->lock);
    const struct ft_user *user = user_of(users, uid);
    uint64_t part = users->limits.all_job_bytes / (users->job_users ? users->job_users : 1);
    uint64_t bytes = part < users->limits.job_bytes ? part : users->limits.job_bytes;
    bytes /= user && user->jobs ? user->jobs : 1;
    pthread_mutex_unlock(&users->lock);
    return bytes;
}

void ft_users_add_written(struct ft_users *users, uint32_t uid, uint64_t bytes)
{
    pthread_mutex_lock(&users->lock);
    struct ft_user *user = user_of(users, uid);
    if (user)
        user->written_bytes += bytes;
    pthread_mutex_unlock(&users->lock);
}

static uint64_t stored_of(const struct ft_user *user)
{
    return user->found_bytes + (user->written_bytes - user->written_at_found);
}

uint64_t ft_users_stored(struct ft_users *users, uint32_t uid)
{
    pthread_mutex_lock(&users->lock);
    const struct ft_user *user = user_of(users, uid);
    uint64_t bytes = user ? stored_of(user) : 0;
    pthread_mutex_unlock(&users->lock);
    return bytes;
}

void ft_users_begin_look(struct ft_users *users)
{
    pthread_mutex_lock(&users->lock);
    for (size_t i = 0; i < users->count; i++)
        users->users[i].written_at_look = users->users[i].written_bytes;
    pthread_mutex_unlock(&users->lock);
}

// What was written while the look went on may have been found, too: it counts twice until the next one.
void ft_users_end_look(struct ft_users *users)
{
    pthread_mutex_lock(&users->lock);
    for (size_t i = 0; i < users->count; i++) {
        users->users[i].found_bytes = 0;
        users->users[i].written_at_found = users->users[i].written_at_look;
    }
    pthread_mutex_unlock(&users->lock);
}

void ft_users_add_found(struct ft_users *users, uint32_t uid, uint64_t bytes)
{
    pthread_mutex_lock(&users->lock);
    struct ft_user *user = user_of(users, uid);
    if (user)
        user->found_bytes += bytes;
    pthread_mutex_unlock(&users->lock);
}

bool ft_users_any_stored(struct ft_users *users, uint64_t bytes)
{
    bool is_any = false;
    pthread_mutex_lock(&users->lock);
    for (size_t i = 0; i < users->count; i++)
        is_any |= stored_of(&users->users[i]) >= bytes;
    pthread_mutex_unlock(&users->lock);
    return is_any;
}

size_t ft_users_list(struct ft_users *users, struct ft_user *out, size_t room)
{
    pthread_mutex_lock(&users->lock);
    size_t count = users->count < room ? users->count : room;
    if (count)
        memcpy(out, users->users, count * sizeof(*out));
    pthread_mutex_unlock(&users->lock);
    return count;
}
