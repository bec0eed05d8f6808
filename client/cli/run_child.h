// SPDX-License-Identifier: MIT
/*
 * The traced command itself: started in our process group and with our descriptors, so that it has the terminal as it
 * would have it without us. While it runs, SIGINT and SIGQUIT (which the terminal sends to it as well) are ignored
 * here, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are passed on.
 */
#ifndef FT_CLI_RUN_CHILD_H
#define FT_CLI_RUN_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "client/cli/run_daemon.h"

struct ft_run_child {
    pid_t pid;
    int status;     /* as of a shell: the exit status, or 128 + signal; 126 or 127 where it could not be run */
    int exec_error; /* errno of a failed exec, else 0 */
    sigset_t mask;  /* ours, for when it is over; so is the action of SIGCHLD */
    struct sigaction child_before;
    struct ft_run_signals signals; /* those that are held back until then */
};

/*
 * Runs it to its end, but leaves it to be waited for: as long as it is not, the daemon can read from /proc how it ended
 * and what the kernel counted. A daemon that is killed meanwhile is followed by another. 0, or -errno where not even a
 * process could be made. Until it is waited for, the signals that are passed on are held back, and then forgotten. Of one that
 * was passed on, or that the command ended with, another may come: timeout(1) signals its child and then the group, a
 * batch system one process after the other.
 */
int ft_run_child(struct ft_run_child *child, char *const *argv, char *const *environment, struct ft_run_daemon *daemon);
void ft_run_child_reap(struct ft_run_child *child);

/* As a shell's, of a command whose exec failed. */
int ft_run_child_status_of(int exec_error);

#endif
