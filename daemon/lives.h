// SPDX-License-Identifier: MIT
//
// Which file lies at a path now, and which of the files it is that had one inode number after each other.
//
// Calls that name a path (stat, unlink, rename) do not tell the file. What opened, linked and renamed it last does, where
// that was before the call, by the clock: processes are drained one after the other. A file is told by device, inode
// and birth (proto/birth.h). Where that is exact, there is nothing more to know. Else files of one number and birth are
// counted: the number is free, and the next file that has it is another one, when the last name that is known of the
// file has gone. Of a file that was born long before, that is not believed: it may have names that nobody used here,
// and if it has none, the next one's birth is another. Nor where anybody used the number after that, and was drained
// before: two files in one row are better than one in two.
//
// Both tables are caches of a fixed size: what was forgotten is not known.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_LIVES_H
#define FT_DAEMON_LIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FT_LIVES_PATHS_MAX = 16384, FT_LIVES_INODES_MAX = 16384 };

struct ft_lives_file {
    uint64_t device, inode; // as in ft_name; inode 0: there is none
    uint64_t birth;         // as in the trace
    uint8_t kind;           // enum ft_file_kind_wire
};

struct ft_lives {
    struct ft_lives_path *paths;
    struct ft_lives_inode *inodes;
    uint32_t paths_room, inodes_room; // powers of two; 0: none yet
    uint32_t part, epoch;             // paths of other ones are forgotten
    int64_t realtime_offset_ns;
};

void ft_lives_fini(struct ft_lives *lives);
size_t ft_lives_memory(const struct ft_lives *lives);

// Paths are NAME ids of this part of the trace from here on.
void ft_lives_begin(struct ft_lives *lives, uint32_t part, int64_t realtime_offset_ns);

// Times are CLOCK_MONOTONIC; of what changes names the end of the call, else its start.

// The birth, as the trace tells it, of a file that was opened by its path (`is_new`: and certainly made by that) or that
// is known by a descriptor, from the kernel's.
uint64_t ft_lives_opened(struct ft_lives *lives, uint64_t device, uint64_t inode, uint64_t birth, bool is_new,
                         int64_t at_ns);
uint64_t ft_lives_birth(struct ft_lives *lives, uint64_t device, uint64_t inode, uint64_t birth, int64_t at_ns);

// NULL: not known.
const struct ft_lives_file *ft_lives_find(const struct ft_lives *lives, uint32_t path, int64_t at_ns);

// The file lies at the path since then.
void ft_lives_set(struct ft_lives *lives, uint32_t path, const struct ft_lives_file *file, int64_t since_ns);
// The path went.
void ft_lives_unlink(struct ft_lives *lives, uint32_t path, int64_t at_ns);
// It has this other path, too. `file` NULL, here and below: not known.
void ft_lives_link(struct ft_lives *lives, const struct ft_lives_file *file, uint32_t to, int64_t at_ns);
// It went from one path to the other; what was there is replaced, or goes the other way.
void ft_lives_rename(struct ft_lives *lives, const struct ft_lives_file *file, uint32_t from, uint32_t to,
                     bool is_exchange, int64_t at_ns);

#endif
