// SPDX-License-Identifier: MIT
//
// What a job has in files of before: of a daemon before us, or of ours where the job came back after it was over. The caps
// count it with the rest. Belongs to the worker that has the job.
#ifndef FT_DAEMON_EARLIER_H
#define FT_DAEMON_EARLIER_H

struct ft_job;

// Adds rows and bytes of the job's files before the first that it has now, once; later, where it has none yet.
void ft_earlier_count(struct ft_job *job);

#endif
