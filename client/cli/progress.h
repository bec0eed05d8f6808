// SPDX-License-Identifier: MIT
/* Progress of a long read, on a terminal only: one line on stderr that comes after a second and goes when done. */
#ifndef FT_CLI_PROGRESS_H
#define FT_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct ft_progress {
    const char *what; /* "reading" */
    uint64_t whole, done;
    int64_t next_ns; /* CLOCK_MONOTONIC; the line is renewed then */
    bool is_shown, is_on;
};

void ft_progress_begin(struct ft_progress *progress, const char *what, uint64_t whole);
void ft_progress_step(struct ft_progress *progress, uint64_t amount);
void ft_progress_end(struct ft_progress *progress);

#endif
