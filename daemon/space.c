// SPDX-License-Identifier: MIT
#include "daemon/space.h"

#include <sys/statvfs.h>

#include "daemon/daemon.h"

#define UNWANTED_NS INT64_C(60000000000)

static void look(struct ft_space *space)
{
    struct statvfs disk;
    space->is_found = statvfs(space->path, &disk) == 0;
    space->free_bytes = space->is_found ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
    space->used_bytes = space->is_found ? (uint64_t)(disk.f_blocks - disk.f_bfree) * disk.f_frsize : 0;
}

static void take(struct ft_space *space)
{
    space->is_known = space->is_found;
    space->last_free_bytes = space->free_bytes;
    space->last_used_bytes = space->used_bytes;
}

static void run(struct ft_aside *aside)
{
    look((struct ft_space *)aside);
}

static void after(struct ft_aside *aside)
{
    struct ft_space *space = (struct ft_space *)aside;
    space->is_running = false;
    if (aside->error == 0)
        take(space);
}

void ft_space_init(struct ft_daemon *daemon)
{
    struct ft_space *space = &daemon->space;
    space->path = daemon->config.spool_dir;
    space->aside.run = run;
    space->aside.after = after;
    look(space);
    take(space);
    space->next_ns = ft_clock_mono_ns() + UNWANTED_NS;
}

void ft_space_want(struct ft_daemon *daemon)
{
    daemon->space.is_wanted = true;
}

void ft_space_tick(struct ft_daemon *daemon, int64_t now_ns)
{
    struct ft_space *space = &daemon->space;
    bool is_due = space->is_wanted || (now_ns >= space->next_ns && !daemon->config.private);
    if (!is_due || space->is_running || daemon->is_ending)
        return;
    space->is_running = true;
    space->is_wanted = false;
    space->next_ns = now_ns + UNWANTED_NS;
    ft_aside_start(&daemon->loop, &space->aside);
}
