// SPDX-License-Identifier: MIT
#include "daemon/inside.h"

static bool is_inside(const struct ft_process *process)
{
    return process->ns_pid != process->pid;
}

static bool may_be_one_namespace(const struct ft_process *a, const struct ft_process *b)
{
    return !a->pid_namespace || !b->pid_namespace || a->pid_namespace == b->pid_namespace;
}

static bool may_be_child(const struct ft_process *parent, const struct ft_process *process)
{
    return is_inside(process) && process->ns_parent_pid == parent->ns_pid &&
           (!process->parent_pid || process->parent_pid == parent->pid) && may_be_one_namespace(parent, process);
}

uint32_t ft_inside_find_child(const struct ft_job *job, const struct ft_process *parent, uint32_t ns_pid,
                              int64_t since_ns)
{
    const struct ft_process *first = NULL;
    for (const struct ft_process *one = is_inside(parent) ? job->processes : NULL; one; one = one->next)
        if (one->ns_pid == ns_pid && one->start_ns >= since_ns && may_be_child(parent, one) &&
            (!first || one->start_ns < first->start_ns))
            first = one;
    return first ? first->pid : ns_pid;
}

void ft_inside_find_parent(const struct ft_job *job, struct ft_process *process)
{
    const struct ft_process *found = NULL;
    if (process->parent_pid || !process->ns_parent_pid || !is_inside(process))
        return;
    for (const struct ft_process *one = job->processes; one; one = one->next) {
        if (one == process || one->pid == process->pid || !is_inside(one) || one->start_ns > process->start_ns ||
            !may_be_child(one, process))
            continue;
        if (found && found->pid != one->pid)
            return;
        found = one;
    }
    process->parent_pid_guessed = found ? found->pid : 0;
}
