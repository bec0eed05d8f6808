// SPDX-License-Identifier: MIT
//
// Who has been accepted, and whose memory nobody else holds: should this daemon be killed now, that process is lost.
//
// A table in shared memory, which the service manager holds from this daemon's begin on. A process is noted when its
// connection is accepted, and crossed out when its memory is held, when it is refused, or when all of it is in a file. A
// daemon that takes over finds the table, and writes a gap for each that is in it and that no file tells of. Who is
// lost stays in the table until the gap is in a file.
//
// Without a service manager there is no table, and all of this does nothing. The loop's.
#ifndef FT_DAEMON_ARRIVALS_H
#define FT_DAEMON_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

struct ft_daemon;
struct ft_trace_reader;

// So many may be on their way at once; more are not noted.
enum { FT_ARRIVALS_MAX = 4095 };
#define FT_ARRIVALS_NAME "flowtapd-arrivals"

enum ft_arrival_state { FT_ARRIVAL_NONE, FT_ARRIVAL_COMING, FT_ARRIVAL_LOST };

struct ft_arrival {
    uint32_t state; // enum ft_arrival_state, written last
    uint32_t uid, pid;
    uint32_t unused;
    uint64_t segment; // 0: not looked at yet
    uint64_t folder;  // of its job (stored_name.h); 0: not known yet
};

struct ft_arrivals {
    struct ft_arrival *table; // mapped; FT_ARRIVALS_MAX behind one that tells the table's version; NULL: none
    int fd;                   // of the table, -1 none
    bool is_held;             // the manager has it
    uint16_t *free;
    uint32_t free_count;
    int64_t lost_ns; // when gaps were asked for, 0: no entry is lost
};

// The table of a daemon before us, which the service manager gave back. Takes the descriptor. Before ft_arrivals_open().
void ft_arrivals_add(struct ft_daemon *daemon, int fd);
// With that one, or anew. Behind ft_store_open().
void ft_arrivals_open(struct ft_daemon *daemon);
void ft_arrivals_close(struct ft_daemon *daemon);

// Notes who is at the other end of an accepted connection. 0: cannot be noted.
uint32_t ft_arrivals_note(struct ft_daemon *daemon, int socket_fd);
void ft_arrivals_note_segment(struct ft_daemon *daemon, uint32_t arrival, uint64_t segment, uint64_t folder);
// Crosses it out; nothing where it is 0.
void ft_arrivals_forget(struct ft_daemon *daemon, uint32_t arrival);

uint32_t ft_arrivals_count(const struct ft_daemon *daemon);

// Whether one is left that may be in this user's folder.
bool ft_arrivals_concern(const struct ft_daemon *daemon, uint32_t uid, uint64_t folder);
// A file of the daemon before us: who is in it, or in one of its gaps, is not lost unseen.
void ft_arrivals_see_file(struct ft_daemon *daemon, const struct ft_trace_reader *reader);
// The service manager held it.
void ft_arrivals_see_segment(struct ft_daemon *daemon, uint64_t segment);
// Gaps for those that are left; each job of theirs is made where there is none.
void ft_arrivals_tell_lost(struct ft_daemon *daemon);

// Every second.
void ft_arrivals_tick(struct ft_daemon *daemon, int64_t now_ns);

#endif
