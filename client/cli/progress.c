// SPDX-License-Identifier: MIT
#include "client/cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/cli/cli.h"

#define FIRST_NS INT64_C(1000000000)
#define EVERY_NS INT64_C(100000000)

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void ft_progress_begin(struct ft_progress *progress, const char *what, uint64_t whole)
{
    memset(progress, 0, sizeof(*progress));
    progress->what = what;
    progress->whole = whole;
    progress->is_on = whole > 0 && isatty(STDERR_FILENO);
    progress->next_ns = progress->is_on ? monotonic_ns() + FIRST_NS : 0;
}

void ft_progress_step(struct ft_progress *progress, uint64_t amount)
{
    progress->done += amount;
    if (!progress->is_on) {
        return;
    }
    int64_t now = monotonic_ns();
    if (now < progress->next_ns) {
        return;
    }
    double share = 100 * (double)progress->done / (double)progress->whole;
    fprintf(stderr, "\r%s: %s %3.0f %%\033[K", ft_cli_name(), progress->what, share > 100 ? 100 : share);
    fflush(stderr);
    progress->is_shown = true;
    progress->next_ns = now + EVERY_NS;
}

void ft_progress_end(struct ft_progress *progress)
{
    if (progress->is_shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    progress->is_shown = progress->is_on = false;
}
