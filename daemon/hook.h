// SPDX-License-Identifier: MIT
//
// job_finished_command: what an admin wants done with the traces of a job that has ended, such as to copy them. Run by a
// shell beside the loop, a few at a time, each with an end; its result is logged. The loop's.
#ifndef FT_DAEMON_HOOK_H
#define FT_DAEMON_HOOK_H

#include <stdint.h>

struct ft_daemon;
struct ft_job;
struct ft_hook_run;

struct ft_hook {
    struct ft_hook_run *waiting, **waiting_end, *running;
    uint32_t waiting_count, running_count;
};

void ft_hook_init(struct ft_hook *hook);

// All of the job's files are closed.
void ft_hook_note_finished(struct ft_daemon *daemon, const struct ft_job *job);

// Those that run are left to end by themselves; those that wait are not run, which is said.
void ft_hook_close(struct ft_daemon *daemon);

#endif
