// SPDX-License-Identifier: MIT
#include "daemon/users.h"

#include <stdlib.h>
#include <string.h>

void ft_users_init(struct ft_users *users, uint32_t processes_max, uint64_t bytes_max)
{
    memset(users, 0, sizeof(*users));
    pthread_mutex_init(&users->lock, NULL);
    users->processes_max = processes_max;
    users->bytes_max = bytes_max;
}

void ft_users_set_limits(struct ft_users *users, uint32_t processes_max, uint64_t bytes_max)
{
    pthread_mutex_lock(&users->lock);
    users->processes_max = processes_max;
    users->bytes_max = bytes_max;
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
    bool is_taken = user && user->processes < users->processes_max;
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

bool ft_users_take_bytes(struct ft_users *users, uint32_t uid, uint64_t bytes)
{
    pthread_mutex_lock(&users->lock);
    struct ft_user *user = user_of(users, uid);
    bool is_taken = user && bytes <= users->bytes_max && user->bytes <= users->bytes_max - bytes;
    if (is_taken)
        user->bytes += bytes;
    pthread_mutex_unlock(&users->lock);
    return is_taken;
}

void ft_users_give_bytes(struct ft_users *users, uint32_t uid, uint64_t bytes)
{
    pthread_mutex_lock(&users->lock);
    struct ft_user *user = user_of(users, uid);
    if (user)
        user->bytes -= bytes < user->bytes ? bytes : user->bytes;
    pthread_mutex_unlock(&users->lock);
}

void ft_users_add_job(struct ft_users *users, uint32_t uid)
{
    pthread_mutex_lock(&users->lock);
    struct ft_user *user = user_of(users, uid);
    if (user)
        user->jobs++;
    pthread_mutex_unlock(&users->lock);
}

void ft_users_remove_job(struct ft_users *users, uint32_t uid)
{
    pthread_mutex_lock(&users->lock);
    struct ft_user *user = user_of(users, uid);
    if (user && user->jobs)
        user->jobs--;
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

size_t ft_users_list(struct ft_users *users, struct ft_user *out, size_t room)
{
    pthread_mutex_lock(&users->lock);
    size_t count = users->count < room ? users->count : room;
    if (count)
        memcpy(out, users->users, count * sizeof(*out));
    pthread_mutex_unlock(&users->lock);
    return count;
}
