// SPDX-License-Identifier: MIT
//
// Finds trace files in files and folders.
#ifndef FT_PROTO_TRACE_WALK_H
#define FT_PROTO_TRACE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct ft_found {
    char *path;
    bool is_named; // by the caller, not found in a folder
    off_t size;
    dev_t dev;
    ino_t inode;
};

struct ft_walk {
    struct ft_found *files;
    size_t count, cap;
    size_t seen; // with those that came twice
};

// Folders deeper than this are not entered.
#define FT_WALK_DEPTH_MAX 64

// Adds a file, or all *.flow of a folder, each inode once. 0, -ENODATA (a folder
// without any), or -errno. A folder inside that cannot be read is passed over.
int ft_walk_add(struct ft_walk *walk, const char *path);
void ft_walk_fini(struct ft_walk *walk);

#endif
