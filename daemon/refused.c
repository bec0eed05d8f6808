// SPDX-License-Identifier: MIT
#include "daemon/refused.h"

#include <stdio.h>
#include <unistd.h>

#define INTERVAL_NS INT64_C(1000000000)

void ft_refused_add(struct ft_refused *refused, uint32_t pid, const char *reason)
{
    char path[32];
    if (refused->named_count == FT_REFUSED_NAMED_MAX) {
        refused->more_count++;
        return;
    }
    struct ft_refused_process *one = &refused->named[refused->named_count++];
    *one = (struct ft_refused_process){.pid = pid, .reason = reason};
    snprintf(path, sizeof(path), "/proc/%u/exe", pid);
    if (readlink(path, one->exe, sizeof(one->exe) - 1) < 0)
        one->exe[0] = '\0';
}

int64_t ft_refused_due_ns(const struct ft_refused *refused)
{
    if (refused->written_count < refused->named_count)
        return 0;
    return refused->more_count ? refused->next_ns : INT64_MAX;
}

void ft_refused_put(struct ft_refused *refused, struct ft_trace_writer *writer, int64_t now_ns)
{
    for (; refused->written_count < refused->named_count; refused->written_count++) {
        const struct ft_refused_process *one = &refused->named[refused->written_count];
        struct ft_trace_gap gap = {.kind = FT_GAP_NOT_ADMITTED,
                                   .pid = one->pid,
                                   .count = 1,
                                   .when_ns = now_ns,
                                   .exe = FT_BYTES(one->exe),
                                   .reason = FT_BYTES(one->reason)};
        ft_trace_writer_put_gap(writer, &gap);
    }
    if (!refused->more_count)
        return;
    struct ft_trace_gap gap = {.kind = FT_GAP_NOT_ADMITTED,
                               .count = refused->more_count,
                               .when_ns = now_ns,
                               .reason = FT_BYTES("more of them, not named one by one")};
    ft_trace_writer_put_gap(writer, &gap);
    refused->more_count = 0;
    refused->next_ns = now_ns + INTERVAL_NS;
}
