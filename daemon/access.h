// SPDX-License-Identifier: MIT
//
// Who may read a trace: an ACL entry for the job's user, written as the kernel's extended attribute. By descriptor: what a
// path leads to may be another's by then.
#ifndef FT_DAEMON_ACCESS_H
#define FT_DAEMON_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

// Lets `uid` read a file, or enter and list a folder, that the daemon owns. A file system without ACLs leaves it as it
// is.
void ft_access_let_user_read(int fd, uint32_t uid, bool is_folder);

// Gives a file or folder to a group by name; "" leaves it with the daemon's own.
void ft_access_give_to_group(int fd, const char *path, const char *group);

// A folder below the spool as a descriptor; -EPERM where it belongs to nobody who may decide what lies there: not to us,
// nor to the spool's owner, or all may write to it. A symbolic link is no folder.
int ft_access_open_folder(const char *path, const char *spool);

#endif
