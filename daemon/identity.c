// SPDX-License-Identifier: MIT
#include "daemon/identity.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "proto/settings.h"

enum field { JOB, STEP, RANK, LOCAL_RANK };

struct claim {
    enum field field;
    const char *name, *needs; // `needs`: what else has to be there
};

// What processes say of themselves; of each field the first row that is there. The innermost launcher knows a rank best:
// all ranks that mpirun starts in one task of a workload manager have the task's number in their environment, too.
static const struct claim claims[] = {
    {JOB, "FLOWTAP_JOB", NULL},
    {JOB, "SLURM_JOB_ID", NULL},
    {JOB, "SLURM_JOBID", NULL},
    {JOB, "FLUX_JOB_ID", NULL},
    {JOB, "PBS_JOBID", NULL},
    {JOB, "LSB_JOBID", NULL},
    {STEP, "SLURM_STEP_ID", NULL},
    {STEP, "SLURM_STEPID", NULL},
    {STEP, "LSB_JOBINDEX", NULL},
    {STEP, "PBS_ARRAY_INDEX", NULL},
    {RANK, "RANK", "WORLD_SIZE"}, // torchrun; alone it may be anything, so it comes last, too
    {RANK, "OMPI_COMM_WORLD_RANK", NULL},
    {RANK, "MV2_COMM_WORLD_RANK", NULL},
    {RANK, "PALS_RANKID", NULL},
    {RANK, "PMIX_RANK", NULL},
    {RANK, "PMI_RANK", NULL},
    {RANK, "LSF_PM_TASKID", NULL},
    {RANK, "FLUX_TASK_RANK", NULL},
    {RANK, "SLURM_PROCID", NULL},
    {RANK, "RANK", NULL},
    {LOCAL_RANK, "LOCAL_RANK", "WORLD_SIZE"},
    {LOCAL_RANK, "OMPI_COMM_WORLD_LOCAL_RANK", NULL},
    {LOCAL_RANK, "MV2_COMM_WORLD_LOCAL_RANK", NULL},
    {LOCAL_RANK, "PALS_LOCAL_RANKID", NULL},
    {LOCAL_RANK, "MPI_LOCALRANKID", NULL},
    {LOCAL_RANK, "FLUX_TASK_LOCAL_ID", NULL},
    {LOCAL_RANK, "SLURM_LOCALID", NULL},
    {LOCAL_RANK, "LOCAL_RANK", NULL},
};

// Steps that Slurm numbers in the environment and names in the cgroup.
static const struct {
    const char *number, *name;
} slurm_steps[] = {{"4294967290", "interactive"}, {"4294967291", "batch"}, {"4294967292", "extern"}};

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

// What an environment has of the table's variables.
struct claimed {
    struct ft_bytes environment;
    struct ft_bytes values[COUNT(claims)]; // of each row; without data: not there
};

static void note_entry(struct claimed *claimed, const char *name, size_t name_bytes, struct ft_bytes value)
{
    for (size_t i = 0; i < COUNT(claims); i++)
        if (claims[i].name[0] == name[0] && !claimed->values[i].data &&
            strncmp(claims[i].name, name, name_bytes) == 0 && !claims[i].name[name_bytes])
            claimed->values[i] = value;
}

// In one pass: most processes have none of them, and each one that attaches is asked for all. The first of a name holds.
static void find_claimed(struct ft_bytes environment, struct claimed *out)
{
    *out = (struct claimed){.environment = environment};
    for (size_t at = 0, bytes; at < environment.len; at += bytes + 1) {
        const char *entry = environment.data + at;
        bytes = strnlen(entry, environment.len - at);
        const char *equals = memchr(entry, '=', bytes);
        if (equals && equals != entry)
            note_entry(out, entry, (size_t)(equals - entry),
                       (struct ft_bytes){.data = equals + 1, .len = bytes - (size_t)(equals - entry) - 1});
    }
}

static bool next_claim(const struct claimed *claimed, enum field field, size_t *at, struct ft_bytes *value)
{
    for (; *at < COUNT(claims); ++*at) {
        const struct claim *claim = &claims[*at];
        struct ft_bytes other;
        if (claim->field == field && claimed->values[*at].len &&
            (!claim->needs || ft_identity_variable(claimed->environment, claim->needs, &other))) {
            *value = claimed->values[(*at)++];
            return true;
        }
    }
    return false;
}

// -1 where it is no number.
static int32_t number_of(struct ft_bytes value)
{
    int32_t number = 0;
    if (value.len > 9)
        return -1;
    for (size_t i = 0; i < value.len; i++) {
        if (!isdigit((unsigned char)value.data[i]))
            return -1;
        number = number * 10 + (value.data[i] - '0');
    }
    return number;
}

static void claim_rank(const struct claimed *claimed, enum field field, int32_t *rank, uint8_t *source)
{
    struct ft_bytes value;
    int32_t number = -1;
    for (size_t at = 0; number < 0 && next_claim(claimed, field, &at, &value);)
        number = number_of(value);
    if (number < 0)
        return;
    *rank = number;
    *source = FT_JOB_SOURCE_ENVIRONMENT;
}

// Flux writes an id with a letter that not every terminal shows, or with a plain f.
static struct ft_bytes without_flux_letter(struct ft_bytes value, char room[FT_IDENTITY_JOB_MAX + 1])
{
    static const char letter[] = "\xc6\x92";
    if (value.len < 2 || value.len > FT_IDENTITY_JOB_MAX || memcmp(value.data, letter, 2) != 0)
        return value;
    room[0] = 'f';
    memcpy(room + 1, value.data + 2, value.len - 2);
    return (struct ft_bytes){.data = room, .len = value.len - 1};
}

static bool job_from_environment(const struct claimed *claimed, struct ft_identity *out)
{
    struct ft_bytes value;
    char room[FT_IDENTITY_JOB_MAX + 1];
    size_t at = 0;
    if (!next_claim(claimed, JOB, &at, &value))
        return false;
    value = without_flux_letter(value, room);
    copy(out->job, FT_IDENTITY_JOB_MAX, value.data, value.len);
    out->source = FT_JOB_SOURCE_ENVIRONMENT;
    return true;
}

static void step_from_environment(const struct claimed *claimed, struct ft_identity *out)
{
    struct ft_bytes value;
    size_t at = 0;
    if (out->step[0] || !next_claim(claimed, STEP, &at, &value))
        return;
    copy(out->step, FT_IDENTITY_STEP_MAX, value.data, value.len);
    out->step_source = FT_JOB_SOURCE_ENVIRONMENT;
    for (size_t i = 0; i < COUNT(slurm_steps); i++)
        if (strcmp(out->step, slurm_steps[i].number) == 0)
            snprintf(out->step, sizeof(out->step), "%s", slurm_steps[i].name);
}

static void job_from_session(const struct ft_identity_input *input, struct ft_identity *out)
{
    uint32_t number = input->login_session != UINT32_MAX ? input->login_session : input->session;
    if (!ft_identity_session_from_cgroup(input->kernel_cgroup, out))
        snprintf(out->job, sizeof(out->job), "session-%u", number);
    out->source = FT_JOB_SOURCE_SESSION;
}

void ft_identity_find(const struct ft_identity_input *input, struct ft_identity *out)
{
    struct ft_bytes value;
    struct claimed claimed;
    find_claimed(input->environment, &claimed);
    memset(out, 0, sizeof(*out));
    out->rank = out->local_rank = -1;
    bool is_job = ft_identity_from_cgroup(input->kernel_cgroup, FT_JOB_SOURCE_CGROUP, out) ||
                  ft_identity_from_cgroup(input->claimed_cgroup, FT_JOB_SOURCE_ENVIRONMENT, out) ||
                  job_from_environment(&claimed, out);
    if (!is_job)
        job_from_session(input, out);
    step_from_environment(&claimed, out);
    claim_rank(&claimed, RANK, &out->rank, &out->rank_source);
    claim_rank(&claimed, LOCAL_RANK, &out->local_rank, &out->local_rank_source);
    if (ft_identity_variable(input->environment, "FLOWTAP_WORKFLOW", &value))
        out->workflow = value;
}

struct ft_trace_job ft_identity_record(const struct ft_identity *identity)
{
    return (struct ft_trace_job){
        .id = FT_BYTES(identity->job),
        .workflow = identity->workflow,
        .step = FT_BYTES(identity->step),
        .source = identity->source,
        .step_source = identity->step_source,
        .rank_source = identity->rank_source,
        .local_rank_source = identity->local_rank_source,
        .rank = identity->rank,
        .local_rank = identity->local_rank,
    };
}

static void inherit_rank(struct ft_identity *identity, const struct ft_identity *parent)
{
    if (identity->rank < 0) {
        identity->rank = parent->rank;
        identity->rank_source = parent->rank_source;
    }
    if (identity->local_rank < 0) {
        identity->local_rank = parent->local_rank;
        identity->local_rank_source = parent->local_rank_source;
    }
}

void ft_identity_inherit(struct ft_identity *identity, const struct ft_identity *parent)
{
    memcpy(identity->job, parent->job, sizeof(identity->job));
    memcpy(identity->step, parent->step, sizeof(identity->step));
    identity->source = parent->source;
    identity->step_source = parent->step_source;
    inherit_rank(identity, parent);
}

void ft_identity_inherit_claim(struct ft_identity *identity, const struct ft_identity *parent)
{
    if (identity->source != FT_JOB_SOURCE_SESSION || parent->source == FT_JOB_SOURCE_SESSION)
        return;
    ft_identity_inherit(identity, parent);
    identity->source = FT_JOB_SOURCE_ENVIRONMENT;
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
