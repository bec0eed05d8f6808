// SPDX-License-Identifier: MIT
#include "daemon/aside.h"

#include <stdlib.h>

static void on_closed(uv_handle_t *handle)
{
    struct ft_aside *aside = handle->data;
    aside->after(aside);
}

static void on_done(uv_async_t *done)
{
    struct ft_aside *aside = done->data;
    uv_thread_join(&aside->thread);
    uv_close((uv_handle_t *)done, on_closed);
}

static void run(void *given)
{
    struct ft_aside *aside = given;
    aside->run(aside);
    uv_async_send(&aside->done);
}

void ft_aside_start(uv_loop_t *loop, struct ft_aside *aside)
{
    if (uv_async_init(loop, &aside->done, on_done) < 0)
        abort(); // its descriptors are the loop's, and there since the loop is
    aside->done.data = aside;
    aside->error = uv_thread_create(&aside->thread, run, aside);
    if (aside->error < 0)
        uv_close((uv_handle_t *)&aside->done, on_closed);
}
