// SPDX-License-Identifier: MIT
//
// Who may read a trace: an ACL entry for the job's user, written as the kernel's extended attribute.
#ifndef FT_DAEMON_ACCESS_H
#define FT_DAEMON_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

// Lets `uid` read a file, or enter and list a folder, that the daemon owns. A file system without ACLs leaves it as it
// is.
void ft_access_let_user_read(const char *path, uint32_t uid, bool is_folder);

// Gives a file or folder to a group by name; "" leaves it with the daemon's own.
void ft_access_give_to_group(const char *path, const char *group);

#endif
