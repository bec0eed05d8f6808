// SPDX-License-Identifier: MIT
//
// The key user_modes with its names made numbers. That may take as long as a directory service likes, so it is done when the
// daemon starts and, from then on, by workers: the loop only looks into the table.
#ifndef FT_DAEMON_USER_MODES_H
#define FT_DAEMON_USER_MODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/mode.h"
#include "proto/trace_record.h"

struct ft_user_mode {
    struct ft_bytes name; // in the list
    uint32_t uid;
    enum ft_mode mode;
    bool is_known; // there is such a user
};

// In the order of the list: the first that is a user's holds.
struct ft_user_modes {
    struct ft_user_mode *entries;
    size_t count, unknown; // unknown: names of nobody
};

// Reads a list that ft_mode_is_list() takes, and that is there as long as the entries' names are looked at; asks who they are. Any thread. 0 or -ENOMEM, and nothing is made.
int ft_user_modes_make(struct ft_user_modes *modes, const char *list);
void ft_user_modes_fini(struct ft_user_modes *modes);

// Takes the modes of `fresh` in place of its own, which go.
void ft_user_modes_take(struct ft_user_modes *modes, struct ft_user_modes *fresh);

// A user's own mode; `other` where it has none.
enum ft_mode ft_user_modes_find(const struct ft_user_modes *modes, uint32_t uid, enum ft_mode other);

#endif
