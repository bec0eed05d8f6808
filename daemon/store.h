// SPDX-License-Identifier: MIT
//
// Segments that the service manager holds for a daemon that comes after this one (sd_notify(3), FDSTORE=1): what a
// process has recorded then survives the daemon.
//
// With measure, since each descriptor held costs the manager time: at once while few are held and few processes came
// in the last second; else several times a second, those that are older than most processes get, alive or not in a file
// yet. A segment is given up when all of it is in a file. Each has a name of its own, so that it can be given up alone; a
// pidfd is not handed over with it, which would double the cost: the name tells who the process is, and only the exit
// status of one that ends and is reaped while no daemon runs is lost.
//
// All names together are one string of the next daemon's environment (LISTEN_FDNAMES), which execve(2) lets have 128 KiB
// with what stands before it: more are not held, or no daemon could be started any more.
//
// Messages are sent without waiting: a manager that does not read must not hold the loop. What could not be sent is sent
// when it reads again. The loop thread's.
#ifndef FT_DAEMON_STORE_H
#define FT_DAEMON_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct ft_daemon;
struct ft_process;
struct ft_store_removal;

struct ft_store {
    int fd;             // to the manager; -1: it holds nothing for us
    uint32_t max;       // segments
    uint32_t count;     // held
    size_t names_bytes; // of their names, each with what separates it from the next
    uint32_t waiting;   // processes whose segment is not held yet
    int64_t second_ns;
    uint32_t in_second; // came in the second that began then
    uint32_t in_second_before;
    uv_timer_t timer;
    uv_poll_t writable;
    bool is_started;
    bool is_blocked;                   // the manager has to read first
    struct ft_store_removal *removals; // to be sent again
};

// Where there is a manager and the configuration wants it.
void ft_store_open(struct ft_daemon *daemon);
void ft_store_close(struct ft_daemon *daemon);

// A process was admitted; it has its job, and belongs to the loop still.
void ft_store_note_admitted(struct ft_daemon *daemon, struct ft_process *process);
// One that was held by the manager already; takes `name`, which is malloc'ed.
void ft_store_note_held(struct ft_daemon *daemon, struct ft_process *process, char *name);
// It leaves our table. `is_kept`: a daemon that comes after this one may go on with it.
void ft_store_note_gone(struct ft_daemon *daemon, struct ft_process *process, bool is_kept);
// Something else that a daemon after this one is to have. False: the manager has to read first.
bool ft_store_hold(struct ft_daemon *daemon, const char *name, int fd);
// Gives up what is under this name.
void ft_store_remove(struct ft_daemon *daemon, const char *name);

// All processes that live, now: this daemon is about to end. From here on messages do wait, a little.
void ft_store_all(struct ft_daemon *daemon);

#endif
