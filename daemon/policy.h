// SPDX-License-Identifier: MIT
//
// The policy file beside the socket (proto/policy.proto): what clients must know, read by each once at attach.
#ifndef FT_DAEMON_POLICY_H
#define FT_DAEMON_POLICY_H

struct ft_daemon;

//
// Programs believe a policy that is root's or their own user's. A daemon that has a user of its own, and its socket from
// the service manager, may not write where the socket is: there it is root's to write (flowtapd --write-policy, in the
// unit).

// Written whole and renamed into place. 0, or -errno after a message.
int ft_policy_write(struct ft_daemon *daemon);
// The same where we may; else what lies there has to say what our configuration says, or a message tells so.
int ft_policy_refresh(struct ft_daemon *daemon);
// The folder that socket and policy lie in. 0, or -errno after a message.
int ft_policy_make_folder(const struct ft_daemon *daemon);
void ft_policy_remove(struct ft_daemon *daemon);

#endif
