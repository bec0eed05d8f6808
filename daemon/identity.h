// SPDX-License-Identifier: MIT
//
// Which job a process belongs to, and what it is in it: job, step, workflow, rank, local rank, each with who said so.
//
// In this order: the cgroup that the kernel tells; the process's own cgroup line and environment, as a claim, which only
// ever chooses among jobs of the same user; the login session. One table holds the cgroup patterns of workload managers
// (identity_cgroup.c), one the environment's variables.
// Pure functions of text; the caller reads /proc.
#ifndef FT_DAEMON_IDENTITY_H
#define FT_DAEMON_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/settings.h"
#include "proto/trace_record.h"

enum { FT_IDENTITY_JOB_MAX = FT_SETTING_JOB_BYTES_MAX, FT_IDENTITY_STEP_MAX = 64 };

// Sources are of enum ft_job_source; FT_JOB_SOURCE_UNKNOWN where there is nothing.
struct ft_identity {
    char job[FT_IDENTITY_JOB_MAX + 1];
    char step[FT_IDENTITY_STEP_MAX + 1];
    uint8_t source, step_source, rank_source, local_rank_source;
    int32_t rank, local_rank; // -1 unknown
    struct ft_bytes workflow; // inside the environment that was given
};

struct ft_identity_input {
    struct ft_bytes kernel_cgroup;  // text of /proc/PID/cgroup, read from outside; empty if not to be had
    struct ft_bytes claimed_cgroup; // the same as the process told it
    struct ft_bytes environment;    // NUL-separated claims
    uint32_t login_session;         // /proc/PID/sessionid; UINT32_MAX none
    uint32_t session;               // session id, 0 unknown
};

void ft_identity_find(const struct ft_identity_input *input, struct ft_identity *out);

// Job and step of a forked child from its parent; what the environment says of it stays.
void ft_identity_inherit(struct ft_identity *identity, const struct ft_identity *parent);

// The same of a process that nothing but its login session tells of: one that cleaned its environment is still what its
// parent is, as a claim.
void ft_identity_inherit_claim(struct ft_identity *identity, const struct ft_identity *parent);

// As it stands in the trace; points into the identity.
struct ft_trace_job ft_identity_record(const struct ft_identity *identity);

// Job, step and rank from the text of a cgroup file, with `source`; false, and nothing changed, where no pattern of a
// workload manager fits.
bool ft_identity_from_cgroup(struct ft_bytes text, uint8_t source, struct ft_identity *out);

// Login session from the text of a cgroup file.
bool ft_identity_session_from_cgroup(struct ft_bytes text, struct ft_identity *out);

// The line of the unified hierarchy (cgroup v2), without its newline; empty where there is none.
struct ft_bytes ft_identity_unified_line(struct ft_bytes text);

// Value of a variable in a NUL-separated environment; false where it is not there.
bool ft_identity_variable(struct ft_bytes environment, const char *name, struct ft_bytes *value);

// Splits FLOWTAP_TAGS (key=value,...) into at most `room` tags that point into it. Returns how many; *ignored counts
// those that are no tags.
size_t ft_identity_tags(struct ft_bytes text, struct ft_tag *tags, size_t room, unsigned *ignored);

#endif
