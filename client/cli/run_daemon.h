// SPDX-License-Identifier: MIT
/*
 * The private daemon of one `flowtap run`.
 *
 * It is a session of its own, so that the terminal's signals do not reach it, and inherits no descriptor of ours but
 * the two pipes: `ready` (one byte R when it listens) and `hold` (its end of file says that the command has ended, also
 * where this process was killed). What it has to say goes to flowtapd.log in the trace's folder, which is removed
 * where it stayed empty.
 */
#ifndef FT_CLI_RUN_DAEMON_H
#define FT_CLI_RUN_DAEMON_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct ft_run_daemon {
    pid_t pid;
    int hold_fd;
    char log[PATH_MAX];
};

struct ft_run_daemon_options {
    const char *program, *socket, *spool, *library;
    const char *command; /* path of what is to be traced; "" unknown */
    bool follows_clean_env;
};

/* Starts it and waits until it listens. 0, or -errno with a message in `error` and nothing left behind. */
int ft_run_daemon_start(struct ft_run_daemon *daemon, const struct ft_run_daemon_options *options, char *error,
                        unsigned error_bytes);
/* Tells it that the command has ended and waits until it has stored everything. 0, or -EIO with a message. */
int ft_run_daemon_end(struct ft_run_daemon *daemon, char *error, unsigned error_bytes);

#endif
