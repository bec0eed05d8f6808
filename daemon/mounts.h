// SPDX-License-Identifier: MIT
//
// Device number → mount point, file system type and block size, from /proc/self/mountinfo.
//
// The table is read again when an unknown device comes up, at most once a second. statfs(2) is never called on network
// file systems: a dead server would hold a worker. Their block size is told as 0, not known.
//
// Any thread; one lock.
#ifndef FT_DAEMON_MOUNTS_H
#define FT_DAEMON_MOUNTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { FT_MOUNTS_MAX = 16384 };

struct ft_mount {
    uint64_t device; // makedev(major, minor)
    char *point;
    char *fstype;
    uint32_t block_size;
};

struct ft_mounts {
    pthread_mutex_t lock;
    struct ft_mount *mounts; // sorted by device, one for each
    uint32_t count;
    int64_t next_read_ns;
};

void ft_mounts_init(struct ft_mounts *mounts);
void ft_mounts_fini(struct ft_mounts *mounts);

// A copy, to be released with ft_mount_fini(); false where the device is not known.
bool ft_mounts_find(struct ft_mounts *mounts, uint64_t device, struct ft_mount *out);
void ft_mount_fini(struct ft_mount *mount);

// Parses one line of mountinfo; point and fstype are malloc'ed. False where it is none.
bool ft_mounts_parse_line(char *line, struct ft_mount *out);

#endif
