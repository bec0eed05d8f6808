// SPDX-License-Identifier: MIT
/*
 * The private daemon of one `flowtap run`.
 *
 * It is a session of its own, so that the terminal's signals do not reach it, and inherits no descriptor of ours but
 * these: `ready` (a pipe; one byte R when it listens), `hold` (a pipe; its end of file says that the command has ended,
 * also where this process was killed) and `files` (memory; it writes the names of its trace files there, since others
 * may write to the same folder). What it has to say goes to flowtapd.log in the trace's folder, or, where another run
 * has that one, to flowtapd-HOST-PID.log; it is removed where it stayed empty.
 *
 * One that ends before it was told to is followed by another, which goes on with its files and tells in the trace what
 * was lost; who started by then is not traced any more, who starts later is.
 */
#ifndef FT_CLI_RUN_DAEMON_H
#define FT_CLI_RUN_DAEMON_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "client/cli/options.h"

struct ft_run_daemon {
    const struct ft_run_daemon_options *options;
    pid_t pid; /* 0: it has ended */
    int hold_fd, files_fd;
    unsigned followers;   /* that were started after the first one */
    int status;           /* of the one that has ended, as of wait */
    char ended_with[128]; /* how the latest one ended that was not told to; "": none did */
    bool made_log;        /* it was not there before; no other run writes to it */
    char log[PATH_MAX];
};

/* What ends the wait for a daemon that hangs on a disk: signals that are blocked, as SIGCHLD is. The first one of each of
   `forgiven` does not: it was meant for the command. */
struct ft_run_signals {
    sigset_t ending, forgiven;
};

struct ft_run_daemon_options {
    const char *program, *socket, *spool, *library;
    const char *command; /* path of what is to be traced; "" unknown */
    bool follows_clean_env;
    bool is_trial; /* its folder and log do not stay */
};

/* Starts it and waits until it listens. 0, or -errno with a message in `error` and nothing left behind. `options` must
   last as long as the daemon. */
int ft_run_daemon_start(struct ft_run_daemon *daemon, const struct ft_run_daemon_options *options, char *error,
                        unsigned error_bytes);
/* While the command runs, some child has ended: where it is the daemon, another follows. */
void ft_run_daemon_look(struct ft_run_daemon *daemon);
/* Tells it that the command has ended and waits until it has stored everything, or, where `signals` is not NULL, for one
   of them. 0, or -EIO with a message; `pid` is not 0 then where it goes on. */
int ft_run_daemon_end(struct ft_run_daemon *daemon, const struct ft_run_signals *signals, char *error,
                      unsigned error_bytes);
/* Afterwards: paths of its trace files, which are new strings. */
void ft_run_daemon_files(struct ft_run_daemon *daemon, struct ft_strings *paths);

#endif
