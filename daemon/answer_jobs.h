// SPDX-License-Identifier: MIT
//
// Answers to questions about jobs: which there are (FT_MESSAGE_JOBS), and the files of one (FT_MESSAGE_FETCH). One sees
// one's own; root, the daemon's own user and the admin group see all. What the disk has to tell is read aside.
#ifndef FT_DAEMON_ANSWER_JOBS_H
#define FT_DAEMON_ANSWER_JOBS_H

#include <sys/socket.h>

#include "proto/control.h"

struct ft_daemon;

// The loop's. The caller closes the socket. Nothing is answered where too many ask at a time.
void ft_answer_jobs(struct ft_daemon *daemon, int socket_fd, const struct ucred *peer,
                    const struct ft_attach *question);

#endif
