// SPDX-License-Identifier: MIT
//
// Going on where a daemon before us stopped, whether it was killed or told to end.
//
// The service manager gives back the segments that it held (daemon/store.h). Who their processes are, and how much of
// each is in a file, is read from the files that the last daemon of this boot left in the spool, newest first, until all
// are found. What goes on is told anew in the next file, and each event is in exactly one. A process that a file leaves
// running and whose segment nobody held is a gap. A segment whose process is in no file was not read by anybody: it is
// admitted like a new one.
//
// The loop's, before the daemon takes clients.
#ifndef FT_DAEMON_SUCCESSOR_H
#define FT_DAEMON_SUCCESSOR_H

struct ft_daemon;

// A descriptor of the service manager's with its name. Takes the descriptor.
void ft_successor_add(struct ft_daemon *daemon, int fd, const char *name);

// Takes all of them over. Does nothing for a private daemon.
void ft_successor_take_over(struct ft_daemon *daemon);

#endif
