// SPDX-License-Identifier: MIT
#include "daemon/service.h"

#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "daemon/daemon.h"

void ft_service_init(struct ft_daemon *daemon)
{
    uint64_t usec;
    // A manager above a private daemon is somebody else's.
    if (!daemon->config.private && sd_watchdog_enabled(0, &usec) > 0)
        daemon->service.watchdog_ns = (int64_t)(usec / 2) * 1000;
}

uint64_t ft_service_tick_ms(const struct ft_daemon *daemon, uint64_t most_ms)
{
    uint64_t watchdog_ms = (uint64_t)daemon->service.watchdog_ns / 1000000;
    if (!watchdog_ms || watchdog_ms / 2 >= most_ms)
        return most_ms;
    return watchdog_ms > 2 ? watchdog_ms / 2 : 1;
}

void ft_service_notify(const struct ft_daemon *daemon, const char *state)
{
    if (!daemon->config.private)
        sd_notify(0, state);
}

void ft_service_tick(struct ft_daemon *daemon, int64_t now_ns)
{
    struct ft_service *service = &daemon->service;
    char text[sizeof(service->status)];
    ft_status_print(&daemon->status, text, sizeof(text));
    bool is_news = strcmp(text, service->status) != 0;
    bool is_due = service->watchdog_ns && now_ns - service->said_ns >= service->watchdog_ns / 2;
    if (daemon->config.private || (!is_news && !is_due))
        return;
    service->said_ns = now_ns;
    memcpy(service->status, text, sizeof(text));
    sd_notifyf(0, "WATCHDOG=1\nSTATUS=%s", text);
}
