// SPDX-License-Identifier: MIT
/* How a process that was forked becomes the private daemon. */
#ifndef FT_CLI_RUN_BECOME_H
#define FT_CLI_RUN_BECOME_H

#include "client/cli/run_daemon.h"
#include "client/cli/run_environment.h"

struct ft_run_become {
    const struct ft_run_daemon_options *options;
    int log_fd, hold_fd, files_fd;
    int ready_fd;          /* -1: nobody waits for it */
    const char *killed_by; /* how the one before ended; "": it is the first */
};

/* Ours without what makes a program traced: the daemon records others and is not recorded itself. */
void ft_run_become_environment(struct ft_environment *environment, const char *library);

/* After fork. */
_Noreturn void ft_run_become(const struct ft_run_become *become, char *const *environment);

#endif
