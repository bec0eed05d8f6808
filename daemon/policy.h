// SPDX-License-Identifier: MIT
//
// The policy file beside the socket (proto/policy.proto): what clients must know, read by each once at attach.
#ifndef FT_DAEMON_POLICY_H
#define FT_DAEMON_POLICY_H

struct ft_daemon;

// Written whole and renamed into place. 0, or -errno after a message.
int ft_policy_write(struct ft_daemon *daemon);
void ft_policy_remove(struct ft_daemon *daemon);

#endif
