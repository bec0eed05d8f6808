// SPDX-License-Identifier: MIT
#include "proto/trace_tables.h"

#include "proto/trace_aggregate_message.h"
#include "proto/trace_message.h"

#include <errno.h>

// Each makes a Tables message with one record in `field`.
#define WAIT_FOR(tables, field, record, process)                                                     \
    ft_tables_wait(tables,                                                                           \
                   &(Flowtap__Tables){.base = PROTOBUF_C_MESSAGE_INIT(&flowtap__tables__descriptor), \
                                      .n_##field = 1,                                                \
                                      .field = (record)},                                            \
                   process)

int ft_tables_put_process(struct ft_tables *tables, uint32_t id, const struct ft_trace_process *process)
{
    Flowtap__Process message, *list = &message;
    int rc;

    ft_arena_reset(&tables->arena);
    rc = ft_message_from_process(&tables->arena, id, process, &message);
    return rc ? rc : WAIT_FOR(tables, processes, &list, id);
}

int ft_tables_put_thread(struct ft_tables *tables, uint32_t id, const struct ft_trace_thread *thread)
{
    Flowtap__Thread message, *list = &message;
    int rc = ft_message_from_thread(id, thread, &message);

    return rc ? rc : WAIT_FOR(tables, threads, &list, 0);
}

int ft_tables_put_gap(struct ft_tables *tables, const struct ft_trace_gap *gap)
{
    Flowtap__Gap message, *list = &message;
    int rc = ft_message_from_gap(gap, &message);

    return rc ? rc : WAIT_FOR(tables, gaps, &list, 0);
}

int ft_tables_put_loss(struct ft_tables *tables, const struct ft_trace_loss *loss)
{
    Flowtap__Loss message, *list = &message;
    int rc = ft_message_from_loss(loss, &message);

    return rc ? rc : WAIT_FOR(tables, losses, &list, 0);
}

int ft_tables_put_clock(struct ft_tables *tables, const struct ft_trace_clock *clock)
{
    Flowtap__Clock message = FLOWTAP__CLOCK__INIT, *list = &message;

    message.mono_ns = clock->mono_ns;
    message.ticks = clock->ticks;
    message.realtime_offset_ns = clock->realtime_offset_ns;
    return WAIT_FOR(tables, clocks, &list, 0);
}

int ft_tables_put_call(struct ft_tables *tables, unsigned call, const struct ft_trace_call *text)
{
    Flowtap__Call message, *list = &message;
    int rc = ft_message_from_call(call, text, &message);

    return rc ? rc : WAIT_FOR(tables, calls, &list, 0);
}
