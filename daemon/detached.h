// SPDX-License-Identifier: MIT
//
// Whether an open file lies on a mount that nobody reaches any more: `umount -l` under whoever writes there.
#ifndef FT_DAEMON_DETACHED_H
#define FT_DAEMON_DETACHED_H

#include <stdbool.h>
#include <stdint.h>

// Where a file is, as it was when it was made.
struct ft_place {
    uint64_t folder_device; // of the folder that its path names
    int64_t next_ns;        // not asked for before
    bool is_detached;
};

void ft_place_init(struct ft_place *place, const char *path);
// Asked for once a second. A file whose folder was renamed, or that another mount hides, is where it was: it goes on.
// Kernels before 5.8 cannot say; then it is not.
bool ft_place_is_detached(struct ft_place *place, int fd, const char *path, int64_t now_ns);

#endif
