// SPDX-License-Identifier: MIT
//
// Space on the spool's disk that is held back for the totals: a file without a name, given up when the disk is full,
// taken again when there is room. As long as it is gone no blocks are written. Any thread.
#ifndef FT_DAEMON_RESERVE_H
#define FT_DAEMON_RESERVE_H

#include <stdatomic.h>
#include <stdbool.h>

struct ft_config;

struct ft_reserve {
    _Atomic int fd; // -1: given up, or none
};

// In the spool folder, which is there.
void ft_reserve_init(struct ft_reserve *reserve, const struct ft_config *config);
void ft_reserve_fini(struct ft_reserve *reserve);

void ft_reserve_give_up(struct ft_reserve *reserve);

// True where it is there, or none is wanted.
bool ft_reserve_take(struct ft_reserve *reserve, const struct ft_config *config);

#endif
