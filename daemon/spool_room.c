// SPDX-License-Identifier: MIT
#include "daemon/spool_room.h"

#include <stddef.h>

#include "daemon/daemon.h"
#include "daemon/log.h"

#define INTERVAL_NS INT64_C(60000000000)
#define INTERVAL_OVER_NS INT64_C(3000000000)

static struct ft_daemon *daemon_of(struct ft_aside *aside)
{
    return (struct ft_daemon *)((char *)aside - offsetof(struct ft_daemon, room.aside));
}

static void run(struct ft_aside *aside)
{
    struct ft_daemon *daemon = daemon_of(aside);
    struct ft_spool_room *room = &daemon->room;
    room->is_found = ft_spool_list(daemon->config.spool_dir, UINT32_MAX, NULL, &room->found) == 0;
}

static void after(struct ft_aside *aside)
{
    struct ft_daemon *daemon = daemon_of(aside);
    struct ft_spool_room *room = &daemon->room;
    room->is_running = false;
    if (aside->error == 0 && room->is_found) {
        ft_users_end_look(&daemon->users);
        for (size_t i = 0; i < room->found.count; i++)
            ft_users_add_found(&daemon->users, room->found.jobs[i].uid, room->found.jobs[i].bytes);
    }
    ft_spool_list_fini(&room->found);
}

void ft_spool_room_tick(struct ft_daemon *daemon, int64_t now_ns)
{
    struct ft_spool_room *room = &daemon->room;
    uint64_t most = (uint64_t)daemon->config.max_user_stored_bytes;
    if (!most || room->is_running || daemon->config.private || daemon->is_ending)
        return;
    int64_t interval_ns = ft_users_any_stored(&daemon->users, most) ? INTERVAL_OVER_NS : INTERVAL_NS;
    if (room->looked_ns && now_ns - room->looked_ns < interval_ns)
        return;
    room->looked_ns = now_ns;
    room->is_running = true;
    room->is_found = false;
    room->aside.run = run;
    room->aside.after = after;
    ft_users_begin_look(&daemon->users);
    ft_aside_start(&daemon->loop, &room->aside);
}

enum ft_room ft_spool_room_of(struct ft_daemon *daemon, uint32_t uid)
{
    uint64_t most = (uint64_t)daemon->config.max_user_stored_bytes;
    uint64_t bytes = most && !daemon->config.private ? ft_users_stored(&daemon->users, uid) : 0;
    if (!most || bytes < most)
        return FT_ROOM_FOR_ALL;
    bool has_room_for_sums = bytes - most < most / 8;
    ft_log_limited_about(FT_LOG_WARNING, FT_LOG_ABOUT(FT_LOG_USER(uid)),
                         "user %u: has all of max_user_stored in the spool%s", uid,
                         has_room_for_sums ? ": sums alone are kept" : " and an eighth more: totals alone are kept");
    return has_room_for_sums ? FT_ROOM_FOR_SUMS : FT_ROOM_FOR_TOTALS;
}
