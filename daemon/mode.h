// SPDX-License-Identifier: MIT
//
// How much is kept of a process: every event, or sums alone. The site's mode, narrowed for its user (key user_modes), and
// that by the process's own FLOWTAP_MODE; and what a job that passed its cap becomes.
#ifndef FT_DAEMON_MODE_H
#define FT_DAEMON_MODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/trace_event.h"

struct ft_daemon;
struct ft_drain;
struct ft_job;
struct ft_process;

// From the most that is kept to the least.
#define FT_MODES(X)          \
    X(0, TRACE, "trace")     \
    X(1, PROFILE, "profile") \
    X(2, OFF, "off")

#define FT_MODE_ENUM(value, name, text) FT_MODE_##name = value,
enum ft_mode { FT_MODES(FT_MODE_ENUM) FT_MODE_COUNT };
#undef FT_MODE_ENUM

// -EINVAL where it is none.
int ft_mode_parse(const char *text, enum ft_mode *out);

// "NAME=MODE,…" as of user_modes: false where it is none. A user is a name or a number.
bool ft_mode_is_list(const char *text);

// Takes one entry of a list: its name's bytes, its mode; *list is what follows then. False where it is none.
bool ft_mode_next_entry(const char **list, const char **name, size_t *name_bytes, enum ft_mode *mode);

// The configuration's for a user. The loop's, or before it runs.
enum ft_mode ft_mode_of_user(const struct ft_daemon *daemon, uint32_t uid);

// The same, narrowed by what the process's environment says.
enum ft_mode ft_mode_of_process(const struct ft_daemon *daemon, const struct ft_process *process);

// Puts an event where the process's mode wants it. 0, or -errno of the writer.
int ft_mode_put(struct ft_drain *drain, struct ft_process *process, struct ft_event *event);

// Whether the job passed max_events_per_job or max_bytes_per_job just now, or its user max_user_stored: from here on, sums
// alone.
void ft_mode_check_cap(struct ft_job *job, struct ft_drain *drain);

#endif
