// SPDX-License-Identifier: MIT
//
// A private daemon serves one command: it says when it listens, and ends when the pipe that its starter holds ends. All
// processes that wait in the queue are taken first; those that are just ending get end_grace to do so.
#ifndef FT_DAEMON_PRIVATE_H
#define FT_DAEMON_PRIVATE_H

#include <stdbool.h>
#include <uv.h>

struct ft_daemon;

struct ft_private {
    uv_poll_t hold;
    uv_timer_t grace;
    bool has_hold, is_over; // is_over: the command has ended
};

// Says that the socket listens, on ready_fd and to the service manager.
void ft_private_tell_ready(struct ft_daemon *daemon);

int ft_private_start(struct ft_daemon *daemon);
void ft_private_close(struct ft_daemon *daemon);

// Called when a process has ended: the last one ends the waiting.
void ft_private_note_end(struct ft_daemon *daemon);

#endif
