// SPDX-License-Identifier: MIT
#include "daemon/refused.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define INTERVAL_NS INT64_C(1000000000)

void ft_refused_fini(struct ft_refused *refused)
{
    free(refused->named);
    *refused = (struct ft_refused){0};
}

static struct ft_refused_process *new_named(struct ft_refused *refused)
{
    if (refused->named_count == refused->named_room) {
        uint32_t room = refused->named_room ? refused->named_room * 2 : 8;
        struct ft_refused_process *named = realloc(refused->named, room * sizeof(*named));
        if (!named)
            return NULL;
        refused->named = named;
        refused->named_room = room;
    }
    return &refused->named[refused->named_count];
}

void ft_refused_add(struct ft_refused *refused, uint32_t pid, enum ft_gap gap, const char *exe, const char *reason)
{
    char path[32];
    bool is_refused = gap != FT_GAP_DAEMON_STOPPED;
    bool is_named = !is_refused || refused->refused_count < FT_REFUSED_NAMED_MAX;
    struct ft_refused_process *one = is_named ? new_named(refused) : NULL;
    if (!one) {
        *(gap == FT_GAP_NOT_ATTACHED ? &refused->unsent_count : &refused->more_count) += 1;
        return;
    }
    refused->named_count++;
    refused->refused_count += is_refused;
    *one = (struct ft_refused_process){.pid = pid, .gap = gap, .reason = reason};
    snprintf(path, sizeof(path), "/proc/%u/exe", pid);
    if (readlink(path, one->exe, sizeof(one->exe) - 1) < 0)
        snprintf(one->exe, sizeof(one->exe), "%s", exe ? exe : "");
}

int64_t ft_refused_due_ns(const struct ft_refused *refused)
{
    if (refused->named_count)
        return 0;
    return refused->more_count || refused->unsent_count ? refused->next_ns : INT64_MAX;
}

static void put_more(struct ft_trace_writer *writer, enum ft_gap kind, uint64_t *count, int64_t now_ns)
{
    const struct ft_trace_gap gap = {.kind = (uint8_t)kind,
                                     .count = *count,
                                     .when_ns = now_ns,
                                     .reason = FT_BYTES("more of them, not named one by one")};
    if (*count)
        ft_trace_writer_put_gap(writer, &gap);
    *count = 0;
}

void ft_refused_put(struct ft_refused *refused, struct ft_trace_writer *writer, int64_t now_ns)
{
    for (uint32_t i = 0; i < refused->named_count; i++) {
        const struct ft_refused_process *one = &refused->named[i];
        struct ft_trace_gap gap = {.kind = (uint8_t)one->gap,
                                   .pid = one->pid,
                                   .count = 1,
                                   .when_ns = now_ns,
                                   .exe = FT_BYTES(one->exe),
                                   .reason = FT_BYTES(one->reason)};
        ft_trace_writer_put_gap(writer, &gap);
    }
    refused->named_count = 0;
    if (!refused->more_count && !refused->unsent_count)
        return;
    put_more(writer, FT_GAP_NOT_ADMITTED, &refused->more_count, now_ns);
    put_more(writer, FT_GAP_NOT_ATTACHED, &refused->unsent_count, now_ns);
    refused->next_ns = now_ns + INTERVAL_NS;
}
