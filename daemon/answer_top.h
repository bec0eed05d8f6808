// SPDX-License-Identifier: MIT
//
// Answers to what goes on (FT_MESSAGE_TOP): by job, process or file. One sees one's own; root, the daemon's own user and the
// admin group see all. The first question begins the watching (live.h), so that its answer is nearly empty.
#ifndef FT_DAEMON_ANSWER_TOP_H
#define FT_DAEMON_ANSWER_TOP_H

#include <sys/socket.h>

#include "proto/control.h"

struct ft_daemon;

// The loop's. The caller closes the socket. Nothing is answered where too many ask at a time.
void ft_answer_top(struct ft_daemon *daemon, int socket_fd, const struct ucred *peer, const struct ft_attach *question);

#endif
