// SPDX-License-Identifier: MIT
//
// What the service manager hears of us (sd_notify(3)): that we serve, reload, stop; that the loop runs (the watchdog); how we
// do. Only what has changed is said: each message costs the manager more than it costs us. The loop's.
#ifndef FT_DAEMON_SERVICE_H
#define FT_DAEMON_SERVICE_H

#include <stdint.h>

struct ft_daemon;

struct ft_service {
    int64_t watchdog_ns; // the loop has to be heard of so often; 0: nobody waits for it
    int64_t said_ns;     // when it was last
    char status[512];    // as it was last said
};

void ft_service_init(struct ft_daemon *daemon);

// How often ft_service_tick() is to be called, at least.
uint64_t ft_service_tick_ms(const struct ft_daemon *daemon, uint64_t most_ms);
void ft_service_tick(struct ft_daemon *daemon, int64_t now_ns);

void ft_service_notify(const struct ft_daemon *daemon, const char *state);

#endif
