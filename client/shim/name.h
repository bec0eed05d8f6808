// SPDX-License-Identifier: MIT
/*
 * Names of files: DEFINE records. Joining a relative name to its directory is left to the reader, so nothing is copied
 * here but the bytes that the program passed.
 */
#ifndef FT_SHIM_NAME_H
#define FT_SHIM_NAME_H

#include "client/shim/hot.h"

/*
 * Defines what `path`, as passed with `dirfd`, names. Returns its file id, FT_FILE_EXCLUDED where the settings leave it
 * out, or 0 where it could not be defined. *is_cut is set when a prefix was kept. An empty path is dirfd's own file.
 */
uint32_t ft_name_path(int dirfd, const char *path, int *is_cut);

/* Defines a descriptor by what the kernel says of it; fills *inode. As above. Makes system calls. */
uint32_t ft_name_descriptor(int fd, struct ft_inode *inode);
/* In a forked child: the same under its id in the parent, for a call that the fork interrupted. */
void ft_name_again(uint32_t file, int fd);

/* File id of the working directory; 0 where it has no name that can be asked for. */
uint32_t ft_name_cwd(void);

/* Defines any string under a new id; flags: 0 or FT_DEFINE_ONCE. Returns 0 where there was no slot. */
uint32_t ft_name_string(const char *text, size_t n, unsigned flags);

/* In a forked child: another thread of the parent may have been inside. */
void ft_name_reset(void);

/* What /proc/thread-self/fd says that a descriptor is: bytes, not terminated, or -errno. */
long ft_name_readlink(int fd, char *buffer, size_t room);

/* Kind, device and inode of an open descriptor; known = 0 where it cannot be asked. */
void ft_name_inode(int fd, struct ft_inode *inode);

#endif
