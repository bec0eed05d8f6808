// SPDX-License-Identifier: MIT
#include "daemon/reload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/policy.h"
#include "daemon/service.h"

#define NAMES_NS INT64_C(60000000000)

struct reading {
    struct ft_aside aside;
    struct ft_daemon *daemon;
    char *list; // of user_modes, where that alone is looked up again; else NULL
    int result;
    struct ft_config fresh;
    struct ft_user_modes modes;
};

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

static void run(struct ft_aside *aside)
{
    struct reading *reading = (struct reading *)aside;
    struct ft_config_report report = {.tell = ft_log_config};
    if (reading->list) {
        reading->result = ft_user_modes_make(&reading->modes, reading->list);
        return;
    }
    reading->result = ft_options_load(reading->daemon->options, &reading->fresh, &report);
    if (reading->result == 0)
        reading->result = ft_user_modes_make(&reading->modes, reading->fresh.user_modes);
}

static void take(struct ft_daemon *daemon, struct reading *reading)
{
    const struct ft_config *config = &daemon->config;
    ft_config_take(&daemon->config, &reading->fresh, note_change);
    ft_user_modes_take(&daemon->user_modes, &reading->modes);
    ft_log_init(ft_log_level_parse(config->log_level));
    struct ft_users_limits limits = ft_users_limits_of(config);
    ft_users_set_limits(&daemon->users, &limits);
    ft_policy_refresh(daemon);
}

static void take_names(struct ft_daemon *daemon, struct reading *reading)
{
    if (reading->result == 0 && strcmp(reading->list, daemon->config.user_modes) == 0)
        ft_user_modes_take(&daemon->user_modes, &reading->modes);
}

static void after(struct ft_aside *aside)
{
    struct reading *reading = (struct reading *)aside;
    struct ft_daemon *daemon = reading->daemon;
    reading->result = aside->error < 0 ? aside->error : reading->result;
    if (reading->list)
        take_names(daemon, reading);
    else if (reading->result < 0)
        ft_log_about(FT_LOG_ERR, FT_LOG_ABOUT(.message = FT_LOG_BAD_CONFIG),
                     "the configuration stays as it was: correct it (flowtapd --check), then reload again");
    else
        take(daemon, reading);
    if (!reading->list) {
        ft_config_fini(&reading->fresh);
        ft_service_notify(daemon, "READY=1");
    }
    ft_user_modes_fini(&reading->modes);
    free(reading->list);
    free(reading);
    daemon->reload.is_running = false;
    if (daemon->reload.is_wanted)
        ft_reload_start(daemon);
}

// `list`: see struct reading; taken.
static void start(struct ft_daemon *daemon, char *list)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    if (!reading) {
        free(list);
        return;
    }
    reading->daemon = daemon;
    reading->list = list;
    reading->aside.run = run;
    reading->aside.after = after;
    daemon->reload.is_running = true;
    ft_aside_start(&daemon->loop, &reading->aside);
}

void ft_reload_start(struct ft_daemon *daemon)
{
    char state[64];
    daemon->reload.is_wanted = daemon->reload.is_running;
    if (daemon->reload.is_running)
        return;
    snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRId64, ft_clock_mono_ns() / 1000);
    ft_service_notify(daemon, state);
    start(daemon, NULL);
}

void ft_reload_tick(struct ft_daemon *daemon, int64_t now_ns)
{
    struct ft_reload *reload = &daemon->reload;
    if (!reload->names_ns)
        reload->names_ns = daemon->started_ns + NAMES_NS;
    if (!daemon->user_modes.unknown || reload->is_running || now_ns < reload->names_ns)
        return;
    reload->names_ns = now_ns + NAMES_NS;
    char *list = strdup(daemon->config.user_modes);
    if (list)
        start(daemon, list);
}
