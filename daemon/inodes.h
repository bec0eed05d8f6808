// SPDX-License-Identifier: MIT
//
// Inode numbers that are used again: a file system gives the number of a file that was removed to the next new one,
// often within one tick of its birth times. When a path is removed, or renamed over, whose inode is known, that inode's
// later files are told apart by an epoch. Two caches that forget; what they do not know stays one file.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_INODES_H
#define FT_DAEMON_INODES_H

#include "daemon/names.h"

enum { FT_INODES_ROOM = 4096 };

struct ft_inodes_path {
    uint64_t path_hash, device, inode;
};

struct ft_inodes_epoch {
    uint64_t device, inode, epoch;
};

struct ft_inodes {
    struct ft_inodes_path *paths;
    struct ft_inodes_epoch *epochs;
};

void ft_inodes_fini(struct ft_inodes *inodes);

// A file was opened under this name, which is joined and has an inode. Returns its inode's epoch.
uint64_t ft_inodes_note(struct ft_inodes *inodes, const struct ft_name *name);

// A path was removed; or `name` took its place, NULL where nothing did.
void ft_inodes_note_removed(struct ft_inodes *inodes, const struct ft_name *removed, const struct ft_name *name);

#endif
