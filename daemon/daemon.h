// SPDX-License-Identifier: MIT
//
// The whole daemon: one libuv loop, what it owns, how it ends.
//
// Threads: the loop thread runs everything but ft_pass_run() and what that calls, which run on libuv's workers, one for
// each job at a time, and what is done aside (aside.h), on threads of its own. What several touch has its own lock (clock, mounts, users, reserve) or is atomic (counters).
#ifndef FT_DAEMON_DAEMON_H
#define FT_DAEMON_DAEMON_H

#include <uv.h>

#include "daemon/arrivals.h"
#include "daemon/attached.h"
#include "daemon/clock.h"
#include "daemon/config.h"
#include "daemon/heap.h"
#include "daemon/hook.h"
#include "daemon/job.h"
#include "daemon/listener.h"
#include "daemon/metrics.h"
#include "daemon/mounts.h"
#include "daemon/options.h"
#include "daemon/private.h"
#include "daemon/reload.h"
#include "daemon/reserve.h"
#include "daemon/retain.h"
#include "daemon/service.h"
#include "daemon/space.h"
#include "daemon/spool_room.h"
#include "daemon/status.h"
#include "daemon/store.h"
#include "daemon/user_modes.h"
#include "daemon/users.h"

struct ft_successor;

enum { FT_DAEMON_PIDS = 4096 }; // buckets of the table of pids

struct ft_daemon {
    struct ft_config config;
    struct ft_user_modes user_modes;  // of config.user_modes
    const struct ft_options *options; // to read the configuration again
    uv_loop_t loop;
    struct ft_clock_pairs clock;
    struct ft_mounts mounts;
    struct ft_headroom_mount memory_mount;
    struct ft_users users;
    struct ft_status status;
    struct ft_listener listener;
    struct ft_private private;
    struct ft_store store;
    struct ft_service service;
    struct ft_reload reload;
    struct ft_hook hook;
    struct ft_question *questions; // that are being answered
    struct ft_retain retain;
    struct ft_metrics metrics;
    struct ft_space space;
    struct ft_spool_room room;
    struct ft_heap heap;
    struct ft_successor *successor; // until all is taken over
    struct ft_arrivals arrivals;
    uv_signal_t signals[3];
    uv_timer_t housekeeping;
    struct ft_job *jobs;
    uint32_t job_count;
    struct ft_process *by_pid[FT_DAEMON_PIDS];
    uint32_t process_count;
    struct ft_attached attached;
    struct ft_reserve reserve;
    int64_t realtime_offset_ns; // fixed when the daemon starts
    int64_t started_ns;
    _Atomic int ending_gap; // enum ft_gap: what living processes become: still_running, daemon_stopped
    bool is_ending;
    char host[256], boot_id[37];
};

// 0, or -errno after a message.
int ft_daemon_init(struct ft_daemon *daemon);
// Serves until it is told to end; all is written then. The exit status.
int ft_daemon_run(struct ft_daemon *daemon);
void ft_daemon_fini(struct ft_daemon *daemon);

// Takes no more clients (all that wait are taken first), writes everything and ends the loop.
void ft_daemon_end(struct ft_daemon *daemon, enum ft_gap gap);

// The loop's table of processes.
void ft_daemon_add_process(struct ft_daemon *daemon, struct ft_process *process);
void ft_daemon_remove_process(struct ft_daemon *daemon, struct ft_process *process);
// The newest image of a pid; NULL where there is none.
struct ft_process *ft_daemon_find_process(const struct ft_daemon *daemon, uint32_t pid);

// A job is gone with all it had.
void ft_daemon_note_job_gone(struct ft_daemon *daemon);

// A process's end was seen (loop thread).
void ft_daemon_note_end(struct ft_daemon *daemon, struct ft_process *process, int state, int64_t when_ns);

#endif
