/* SPDX-License-Identifier: MIT */
/* What the daemon tells of jobs and their files (proto/control.h). */
#ifndef FT_CLI_DAEMON_JOBS_H
#define FT_CLI_DAEMON_JOBS_H

#include "proto/status.pb-c.h"

/* 0 and *jobs, to be released with flowtap__jobs__free_unpacked(); else as ft_ask_status(). */
int ft_ask_jobs(const char *socket, Flowtap__Jobs **jobs);

/*
 * File number `at` of a job: 0, *file to be released with flowtap__trace_file__free_unpacked() and *fd, -1 where there is
 * no such file.
 */
int ft_ask_file(const char *socket, const Flowtap__Jobs__Job *job, uint32_t at, Flowtap__TraceFile **file, int *fd);

/* "running", "finished", or "unclosed": the daemon was killed before its files were closed. Static storage. */
const char *ft_ask_job_state(const Flowtap__Jobs__Job *job);

/* Name of a user, or the number; to be freed. */
char *ft_ask_user_name(uint32_t uid);

#endif
