// SPDX-License-Identifier: MIT
//
// The name under which the service manager holds a segment ($LISTEN_FDNAMES): what a daemon that takes over must know
// of its process and may not ask the segment, which is the client's to write. At most 255 characters, no colon.
#ifndef FT_DAEMON_STORED_NAME_H
#define FT_DAEMON_STORED_NAME_H

#include <stdint.h>

enum { FT_STORED_NAME_BYTES = 160 };

struct ft_stored_name {
    uint32_t uid, gid, pid; // of the socket's peer
    uint64_t start_time;    // of the pid, 0 not known by then
    uint64_t pidfd_id;      // 0 unknown
    uint64_t segment;       // as the trace names it
    uint64_t folder;        // ft_stored_name_folder() of its job's
};

void ft_stored_name_print(const struct ft_stored_name *name, char out[FT_STORED_NAME_BYTES]);
// -EINVAL where it is no name of ours.
int ft_stored_name_parse(const char *text, struct ft_stored_name *out);

// A number for the last component of a job's folder, which may be too long for a name.
uint64_t ft_stored_name_folder(const char *component);

#endif
