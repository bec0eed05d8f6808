// SPDX-License-Identifier: MIT
//
// Answers to what is asked over the socket (proto/control.h). Loop thread.
#ifndef FT_DAEMON_ANSWER_H
#define FT_DAEMON_ANSWER_H

#include <stdint.h>

#include "proto/control.h"

struct ft_daemon;

// Sends what was asked for, FT_MESSAGE_STATUS or FT_MESSAGE_CONFIG, to whoever asked. What cannot be sent at once is not sent:
// nobody is waited for.
void ft_answer(struct ft_daemon *daemon, int socket_fd, uint32_t uid, enum ft_message question);

#endif
