// SPDX-License-Identifier: MIT
//
// Answers to what is asked over the socket (proto/control.h). Loop thread.
#ifndef FT_DAEMON_ANSWER_H
#define FT_DAEMON_ANSWER_H

#include <stdint.h>

#include "proto/control.h"
#include "proto/status.pb-c.h"

struct ft_daemon;

// Sends what was asked for, FT_MESSAGE_STATUS or FT_MESSAGE_CONFIG, to whoever asked. What cannot be sent at once is not sent:
// nobody is waited for.
void ft_answer(struct ft_daemon *daemon, int socket_fd, uint32_t uid, enum ft_message question);

// Calls `use` with the status as `uid` sees it, which lives until it returns. NULL where there is no memory for it.
void ft_answer_make_status(struct ft_daemon *daemon, uint32_t uid, void (*use)(const Flowtap__Status *, void *),
                           void *context);

#endif
