// SPDX-License-Identifier: MIT
#include "daemon/share.h"

#include "daemon/daemon.h"

#define FILE_NS INT64_C(1000000000)

size_t ft_share_bytes(const struct ft_job *job)
{
    uint64_t bytes = ft_users_job_bytes(&job->daemon->users, job->uid);
    return bytes > FT_SHARE_MIN_BYTES ? (size_t)bytes : FT_SHARE_MIN_BYTES;
}

static size_t memory_of_file(const struct ft_job *job)
{
    return job->storage.writer ? ft_trace_writer_memory(job->storage.writer) : 0;
}

void ft_share_keep(struct ft_job *job)
{
    size_t kept = sizeof(*job) + ft_batch_memory(&job->batch) + ft_lives_memory(&job->lives) + memory_of_file(job);
    // Whoever has so little asks nobody.
    if (kept <= FT_SHARE_MIN_BYTES || kept <= ft_share_bytes(job))
        return;
    ft_batch_trim(&job->batch);
    ft_lives_fini(&job->lives);
    if (job->storage.writer)
        ft_trace_writer_trim(job->storage.writer);
}

bool ft_share_wants_next(const struct ft_job *job, int64_t now_ns)
{
    size_t memory = memory_of_file(job);
    return memory > FT_SHARE_MIN_BYTES && now_ns - job->storage.created_ns >= FILE_NS && memory > ft_share_bytes(job);
}
