// SPDX-License-Identifier: MIT
#include "daemon/identity.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "proto/settings.h"

// Consecutive components of a cgroup path. `{job}` and `{step}` take one or more bytes, `*` any; the rest is literal.
// First match wins.
static const char *const cgroup_patterns[] = {
    "job_{job}/step_{step}",        // Slurm: .../slurmstepd.scope/job_7/step_0/..., /slurm/uid_0/job_7/step_batch
    "job_{job}",                    // Slurm before the first step
    "pbspro-{job}.*",               // OpenPBS with systemd slices
    "pbs_jobs.service/jobid/{job}", // OpenPBS hook
    "jobid/{job}",                  // Torque, older hooks
    "lsf/*/job.{job}.*",            // LSF: /lsf/<cluster>/job.7.<pid>.<time>
    "flux-{job}.scope",
    "shell-{job}.service", // Flux with sdexec
    "oar/*_{job}",         // OAR: /oar/<user>_<job>
    "htcondor/condor_*_{job}@*",
};

static const char *const session_pattern = "session-{job}.scope";

static const char *const job_variables[] = {"FLOWTAP_JOB", "SLURM_JOB_ID", "FLUX_JOB_ID", "PBS_JOBID", "LSB_JOBID"};
static const char *const step_variables[] = {"SLURM_STEP_ID", "LSB_JOBINDEX", "PBS_ARRAY_INDEX"};
static const char *const rank_variables[] = {
    "SLURM_PROCID",        "FLUX_TASK_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
    "MV2_COMM_WORLD_RANK", "PALS_RANKID",    "LSF_PM_TASKID",        "RANK",
};
static const char *const local_rank_variables[] = {
    "SLURM_LOCALID",   "FLUX_TASK_LOCAL_ID", "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID", "PALS_LOCAL_RANKID",  "MV2_COMM_WORLD_LOCAL_RANK",
    "LOCAL_RANK",
};

#define COMPONENT_MAX 255 // bytes of a name, so a hostile line costs little
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

bool ft_identity_variable(struct ft_bytes environment, const char *name, struct ft_bytes *value)
{
    size_t name_bytes = strlen(name);
    for (size_t at = 0; at < environment.len;) {
        const char *entry = environment.data + at;
        size_t bytes = strnlen(entry, environment.len - at);
        if (bytes > name_bytes && entry[name_bytes] == '=' && memcmp(entry, name, name_bytes) == 0) {
            *value = (struct ft_bytes){.data = entry + name_bytes + 1, .len = bytes - name_bytes - 1};
            return true;
        }
        at += bytes + 1;
    }
    return false;
}

static void copy(char *out, size_t room, const char *text, size_t bytes)
{
    if (bytes > room)
        bytes = room;
    memcpy(out, text, bytes);
    out[bytes] = '\0';
}

struct capture {
    const char *text;
    size_t bytes;
};

// Matches `text` against a pattern from its start; true where the pattern is used up at the end of a component.
static bool matches(const char *pattern, const char *text, const char *end, struct capture *job, struct capture *step)
{
    if (!*pattern)
        return text == end || *text == '/';
    bool is_any = *pattern == '*', is_job = strncmp(pattern, "{job}", 5) == 0,
         is_step = strncmp(pattern, "{step}", 6) == 0;
    if (!is_any && !is_job && !is_step)
        return text < end && *text == *pattern && matches(pattern + 1, text + 1, end, job, step);
    const char *rest = pattern + (is_any ? 1 : is_job ? 5 : 6);
    for (const char *to = text + !is_any; to <= end && to - text <= COMPONENT_MAX && (to == text || to[-1] != '/');
         to++) {
        if (!matches(rest, to, end, job, step))
            continue;
        struct capture *capture = is_job ? job : is_step ? step : NULL;
        if (capture)
            *capture = (struct capture){.text = text, .bytes = (size_t)(to - text)};
        return true;
    }
    return false;
}

static bool line_matches(const char *pattern, const char *line, const char *end, struct ft_identity *out)
{
    struct capture job = {0}, step = {0};
    for (const char *at = line; at < end; at++) {
        if ((at != line && at[-1] != '/') || !matches(pattern, at, end, &job, &step) || !job.bytes)
            continue;
        copy(out->job, FT_IDENTITY_JOB_MAX, job.text, job.bytes);
        copy(out->step, FT_IDENTITY_STEP_MAX, step.text ? step.text : "", step.bytes);
        return true;
    }
    return false;
}

static bool any_line_matches(const char *pattern, struct ft_bytes text, struct ft_identity *out)
{
    const char *end = text.data + text.len;
    for (const char *line = text.data; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline ? newline : end;
        // "hierarchy:controllers:/path"
        const char *path = memchr(line, '/', (size_t)(line_end - line));
        if (path && line_matches(pattern, path + 1, line_end, out))
            return true;
        line = line_end + 1;
    }
    return false;
}

bool ft_identity_from_cgroup(struct ft_bytes text, struct ft_identity *out)
{
    for (size_t i = 0; text.len && i < COUNT(cgroup_patterns); i++)
        if (any_line_matches(cgroup_patterns[i], text, out))
            return true;
    return false;
}

// -1 where none of the variables holds a number.
static int32_t number_of(struct ft_bytes environment, const char *const *names, size_t count)
{
    struct ft_bytes value;
    for (size_t i = 0; i < count; i++) {
        if (!ft_identity_variable(environment, names[i], &value) || !value.len || value.len > 9)
            continue;
        int32_t number = 0;
        size_t at = 0;
        for (; at < value.len && isdigit((unsigned char)value.data[at]); at++)
            number = number * 10 + (value.data[at] - '0');
        if (at == value.len)
            return number;
    }
    return -1;
}

static bool job_from_environment(struct ft_bytes environment, struct ft_identity *out)
{
    struct ft_bytes value;
    for (size_t i = 0; i < COUNT(job_variables); i++)
        if (ft_identity_variable(environment, job_variables[i], &value) && value.len) {
            copy(out->job, FT_IDENTITY_JOB_MAX, value.data, value.len);
            return true;
        }
    return false;
}

static void job_from_session(const struct ft_identity_input *input, struct ft_identity *out)
{
    out->step[0] = '\0';
    if (input->kernel_cgroup.len && any_line_matches(session_pattern, input->kernel_cgroup, out)) {
        char number[FT_IDENTITY_JOB_MAX + 1];
        copy(number, FT_IDENTITY_JOB_MAX, out->job, strlen(out->job));
        snprintf(out->job, sizeof(out->job), "session-%.180s", number);
    } else if (input->login_session != UINT32_MAX) {
        snprintf(out->job, sizeof(out->job), "session-%u", input->login_session);
    } else {
        snprintf(out->job, sizeof(out->job), "session-%u", input->session);
    }
}

void ft_identity_find(const struct ft_identity_input *input, struct ft_identity *out)
{
    memset(out, 0, sizeof(*out));
    if (ft_identity_from_cgroup(input->kernel_cgroup, out)) {
        out->source = FT_JOB_SOURCE_CGROUP;
    } else if (ft_identity_from_cgroup(input->claimed_cgroup, out) || job_from_environment(input->environment, out)) {
        out->source = FT_JOB_SOURCE_ENVIRONMENT;
    } else {
        job_from_session(input, out);
        out->source = FT_JOB_SOURCE_SESSION;
    }
    struct ft_bytes value;
    for (size_t i = 0; !out->step[0] && i < COUNT(step_variables); i++)
        if (ft_identity_variable(input->environment, step_variables[i], &value))
            copy(out->step, FT_IDENTITY_STEP_MAX, value.data, value.len);
    out->rank = number_of(input->environment, rank_variables, COUNT(rank_variables));
    out->local_rank = number_of(input->environment, local_rank_variables, COUNT(local_rank_variables));
    if (ft_identity_variable(input->environment, "FLOWTAP_WORKFLOW", &value))
        out->workflow = value;
}

void ft_identity_inherit(struct ft_identity *identity, const struct ft_identity *parent)
{
    memcpy(identity->job, parent->job, sizeof(identity->job));
    memcpy(identity->step, parent->step, sizeof(identity->step));
    identity->source = parent->source;
}

size_t ft_identity_tags(struct ft_bytes text, struct ft_tag *tags, size_t room, unsigned *ignored)
{
    const char *at = text.data, *end = text.data + text.len, *tag;
    size_t count = 0, bytes, key_bytes;
    while (ft_setting_next(&at, end, ',', &tag, &bytes)) {
        if (bytes == 0)
            continue;
        if (count >= room || ft_setting_use_of_tag(tag, bytes, count, &key_bytes) == FT_SETTING_IGNORED)
            ++*ignored;
        else
            tags[count++] = (struct ft_tag){
                .key = {.data = tag, .len = key_bytes},
                .value = {.data = tag + key_bytes + 1, .len = bytes - key_bytes - 1},
            };
    }
    return count;
}
