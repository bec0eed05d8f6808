// SPDX-License-Identifier: MIT
//
// Whether a process that rests still does: its first lines, mapped to be compared with their copies and for nothing else.
// pread(2) of a file that nobody has touched for a tenth of a second costs ten times as much as looking at its page.
//
// The page is the client's, who can do two things about it. It can free it (fallocate, FALLOC_FL_PUNCH_HOLE): then the
// next look puts an empty page there, on the daemon's account, one for each process at most. And it can keep freeing it,
// which makes a fault wait for the freeing: after some looks in a row that took long there are no more of that process through a
// mapping.
// It cannot make the mapping end before its page does: segments are sealed against shrinking (admit.h).
#ifndef FT_DAEMON_RESTING_H
#define FT_DAEMON_RESTING_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/ring.h"

struct ft_resting {
    const struct ft_line *lines; // FT_RESTING_LINES of them, mapped read-only; NULL: not mapped
    uint8_t quiet_looks;         // one after the other
    uint8_t long_looks;          // likewise
    bool is_given_up;            // never mapped again
};

enum { FT_RESTING_LINES = FT_PAGE_BYTES / sizeof(struct ft_line) };

// Once, before all: what a page costs for which there is no memory.
void ft_resting_init(void);

// A look through pread found news, or found none: after some of these the page is mapped. `page` is inside the segment.
void ft_resting_note(struct ft_resting *resting, int fd, uint32_t page, bool has_news);

// True where the first `used` lines are those of `copies` and the next `ahead` have not been taken into use; false also
// where nothing is mapped, or the lines go beyond the page.
bool ft_resting_is_quiet(struct ft_resting *resting, const struct ft_line *copies, uint32_t used, uint32_t ahead);

void ft_resting_end(struct ft_resting *resting);

#endif
