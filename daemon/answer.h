// SPDX-License-Identifier: MIT
//
// Answers to what is asked over the socket (proto/control.h). Loop thread.
#ifndef FT_DAEMON_ANSWER_H
#define FT_DAEMON_ANSWER_H

#include <stdint.h>

struct ft_daemon;

// Sends how the daemon does to whoever asked. What cannot be sent at once is not sent: nobody is waited for.
void ft_answer_status(struct ft_daemon *daemon, int socket_fd, uint32_t uid);

#endif
