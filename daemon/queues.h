// SPDX-License-Identifier: MIT
//
// How much waits at each step of an event's way, for who asks how the daemon does. A worker leaves with each pass what
// waits in its job; the loop adds up.
#ifndef FT_DAEMON_QUEUES_H
#define FT_DAEMON_QUEUES_H

#include <stdatomic.h>
#include <stdint.h>

struct ft_daemon;
struct ft_job;

// Of one job, as of its last pass.
struct ft_queues {
    _Atomic uint64_t segments; // with events that are in no file
    _Atomic uint64_t events;   // of these
    _Atomic uint64_t blocks;   // that these will make, at least
    _Atomic uint64_t bytes;    // encoded, and not in the file: the disk is full
};

// Of all jobs.
struct ft_queues_sum {
    uint64_t segments, events, blocks, bytes;
    uint32_t jobs_busy; // a worker has them, or they wait for one
};

// The worker's, at the end of a pass.
void ft_queues_note(struct ft_job *job);
// The loop's.
struct ft_queues_sum ft_queues_add_up(const struct ft_daemon *daemon);

// Connections that wait in a listening socket's queue: 0 and *count, or -errno where the kernel does not tell. Asked by
// netlink (sock_diag(7)); where that is forbidden, or the socket is of another network namespace, as for a hardened
// service, the descriptors that wait in it stand for their connections: each process sends one.
int ft_queues_connections(int socket_fd, uint32_t *count);
int ft_queues_connections_by_netlink(int socket_fd, uint32_t *count);
int ft_queues_connections_by_descriptors(int socket_fd, uint32_t *count); // Linux 5.6 and later

#endif
