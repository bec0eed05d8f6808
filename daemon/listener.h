// SPDX-License-Identifier: MIT
//
// The listening socket: made, taken from a dead daemon, or passed by the service manager; and its accept loop.
//
// `<socket>.lock` is held while a daemon serves, so that of several that start at once one wins; the socket is bound
// under another name and renamed, so that its path never names a socket that nobody listens on for want of us.
//
// The first that comes is taken at once. After it the daemon looks every 2 ms, until nobody waits: what a client sends is in
// the queue meanwhile, and none of a crowd wakes the daemon, or shares the processors with what it does for the one before.
#ifndef FT_DAEMON_LISTENER_H
#define FT_DAEMON_LISTENER_H

#include <stdbool.h>
#include <uv.h>

#include "daemon/peers.h"

struct ft_daemon;

struct ft_listener {
    int fd;          // -1: none
    int lock_fd;     // -1: none
    int spare_fd;    // given up for a moment to refuse a client where there are no descriptors
    bool is_ours;    // we made the socket: it goes when we end
    uv_poll_t watch; // stopped while `rest` runs
    uv_timer_t rest;
    struct ft_peers peers;
};

// 0, or -errno after a message.
int ft_listener_open(struct ft_daemon *daemon);
int ft_listener_start(struct ft_daemon *daemon);

// Takes every client that waits in the queue.
void ft_listener_accept_all(struct ft_daemon *daemon);

// Listens no more; the socket's path is removed if it was ours.
void ft_listener_close(struct ft_daemon *daemon);

#endif
