// SPDX-License-Identifier: MIT
#include "daemon/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/policy.h"

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

static void note_change(const struct ft_config_key *key, const struct ft_config_value *value, bool is_taken)
{
    const char *origin = value->origin ? value->origin : "the default";
    if (is_taken)
        ft_log_about(FT_LOG_INFO, FT_LOG_ABOUT(.message = FT_LOG_CONFIG), "%s: %s = %.200s from now on", origin,
                     key->name, value->text);
    else
        ft_log_about(FT_LOG_WARNING, FT_LOG_ABOUT(.message = FT_LOG_CONFIG),
                     "%s: %s = %.200s holds after a restart: it cannot change while the daemon runs", origin, key->name,
                     value->text);
}

static void apply(struct ft_daemon *daemon)
{
    const struct ft_config *config = &daemon->config;
    ft_log_init(ft_log_level_parse(config->log_level));
    ft_users_set_limits(&daemon->users, (uint32_t)config->max_processes_per_user,
                        (uint64_t)config->max_user_memory_bytes);
    ft_policy_refresh(daemon);
}

void ft_service_reload(struct ft_daemon *daemon)
{
    struct ft_config fresh;
    struct ft_config_report report = {.tell = ft_log_config};
    char state[64];
    snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRId64, ft_clock_mono_ns() / 1000);
    ft_service_notify(daemon, state);
    if (ft_options_load(daemon->options, &fresh, &report) < 0) {
        ft_log_about(FT_LOG_ERR, FT_LOG_ABOUT(.message = FT_LOG_BAD_CONFIG),
                     "the configuration stays as it was: correct it (flowtapd --check), then reload again");
    } else {
        ft_config_take(&daemon->config, &fresh, note_change);
        apply(daemon);
    }
    ft_config_fini(&fresh);
    ft_service_notify(daemon, "READY=1");
}
