// SPDX-License-Identifier: MIT
#include "daemon/private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/log.h"

void ft_private_tell_ready(struct ft_daemon *daemon)
{
    int fd = (int)daemon->config.ready_fd;
    if (fd >= 0) {
        if (write(fd, "R", 1) != 1)
            ft_log(FT_LOG_WARNING, "ready_fd=%d cannot be written", fd);
        close(fd);
    }
    ft_service_notify(daemon, "READY=1");
}

static bool is_anybody_alive(const struct ft_daemon *daemon)
{
    for (size_t i = 0; i < FT_DAEMON_PIDS; i++)
        for (struct ft_process *process = daemon->by_pid[i]; process; process = process->next_of_pid)
            if (atomic_load(&process->state) == FT_PROCESS_ALIVE)
                return true;
    return daemon->listener.peers.count > 0;
}

static void on_grace_over(uv_timer_t *timer)
{
    ft_daemon_end(timer->data, FT_GAP_STILL_RUNNING);
}

void ft_private_note_end(struct ft_daemon *daemon)
{
    // From the loop, not from here: who calls may be in the middle of taking clients in.
    if (daemon->private.is_over && !daemon->is_ending && !is_anybody_alive(daemon))
        uv_timer_start(&daemon->private.grace, on_grace_over, 0, 0);
}

static void on_hold(uv_poll_t *watch, int status, int events)
{
    struct ft_daemon *daemon = watch->data;
    char ignored[64];
    (void)events;
    ssize_t n = status < 0 ? 0 : read((int)daemon->config.hold_fd, ignored, sizeof(ignored));
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    uv_poll_stop(watch);
    daemon->private.is_over = true;
    ft_listener_accept_all(daemon);
    uint64_t grace_ms = (uint64_t)daemon->config.end_grace_ns / 1000000;
    uv_timer_start(&daemon->private.grace, on_grace_over, grace_ms, 0);
    ft_private_note_end(daemon);
}

int ft_private_start(struct ft_daemon *daemon)
{
    struct ft_private *private = &daemon->private;
    uv_timer_init(&daemon->loop, &private->grace);
    private->grace.data = daemon;
    private->has_hold = daemon->config.hold_fd >= 0;
    if (!private->has_hold)
        return 0;
    int fd = (int)daemon->config.hold_fd;
    int r = uv_poll_init(&daemon->loop, &private->hold, fd);
    if (r < 0) {
        private->has_hold = false;
        ft_log(FT_LOG_ERR, "hold_fd=%d cannot be watched: %s", fd, uv_strerror(r));
        return r;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    private->hold.data = daemon;
    return uv_poll_start(&private->hold, UV_READABLE | UV_DISCONNECT, on_hold);
}

void ft_private_close(struct ft_daemon *daemon)
{
    uv_close((uv_handle_t *)&daemon->private.grace, NULL);
    if (daemon->private.has_hold)
        uv_close((uv_handle_t *)&daemon->private.hold, NULL);
}
