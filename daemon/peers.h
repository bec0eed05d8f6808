// SPDX-License-Identifier: MIT
//
// Clients that have connected and not sent yet. A shim is between two system calls then, so there are few, and for a
// moment, or for as long as somebody stops that process; others hold connections to do harm, and may have as many as
// max_connections_per_user. So none is closed for its silence alone, and a program of ours (client.h) that is closed, or that
// ends without a word, is a gap.
//
// Who comes when there is no room takes the place of the oldest of its own process, else of its own user, else of the
// user who has most: whoever has one connection, and sends, is not driven out by somebody who has many.
#ifndef FT_DAEMON_PEERS_H
#define FT_DAEMON_PEERS_H

#include <stdint.h>

struct ft_client;
struct ft_daemon;
struct ft_peer;

struct ft_peers {
    struct ft_peer *oldest, **end;
    unsigned count;
};

void ft_peers_init(struct ft_peers *peers);

// Takes over the descriptor, and its entry among the arrivals.
void ft_peers_add(struct ft_daemon *daemon, int fd, uint32_t arrival, const struct ft_client *client);

// Admits those that have sent meanwhile.
void ft_peers_admit(struct ft_daemon *daemon);

// The daemon ends. Before the jobs are finished: each of them is told in one.
void ft_peers_close(struct ft_daemon *daemon);

#endif
