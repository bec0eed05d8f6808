// SPDX-License-Identifier: MIT
#include "daemon/quota.h"

#include "daemon/daemon.h"

size_t ft_quota_memory(const struct ft_process *process)
{
    return ft_names_memory(&process->names) + ft_tag_times_memory(&process->tags_all) +
           process->lines_count * sizeof(*process->lines) +
           process->segment.lines_room * sizeof(*process->segment.lines) +
           process->segment.positions_count * sizeof(*process->segment.positions);
}

static bool charge(struct ft_job *job, struct ft_process *process)
{
    size_t memory = ft_quota_memory(process);
    size_t wanted = memory > FT_QUOTA_FREE_BYTES ? memory - FT_QUOTA_FREE_BYTES : 0;
    if (wanted <= process->charged_bytes)
        return true;
    size_t more = wanted - process->charged_bytes;
    if (!ft_users_take_bytes(&job->daemon->users, process->uid, more))
        return false;
    process->charged_bytes += more;
    process->quota_bytes += more;
    return true;
}

bool ft_quota_settle(struct ft_job *job, struct ft_process *process)
{
    if (charge(job, process))
        return true;
    process->names_forgotten += ft_names_forget(&process->names);
    return charge(job, process);
}
