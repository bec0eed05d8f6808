// SPDX-License-Identifier: MIT
//
// What the names of cgroups tell: one table of the layouts of workload managers and of login sessions.
#include <stdio.h>
#include <string.h>

#include "daemon/identity.h"

enum meaning { JOB, LOGIN, SCOPE };
// How a name is written in the cgroup, where that is not as its manager prints it.
enum spelling { PLAIN, SYSTEMD, KUBERNETES };

struct pattern {
    const char *text;
    enum meaning meaning;
    enum spelling spelling;
};

// Consecutive components of a cgroup path, anywhere in it, to the end of a component. `{job}`, `{step}` and `{rank}` take
// one or more bytes of one component, `*` any; the rest is literal. First match wins: the longer layout stands first.
//
// Slurm numbers tasks by their global rank where it gathers accounts by cgroup, by the local one where it only constrains
// devices: of both, the environment knows better (identity.c).
static const struct pattern patterns[] = {
    // Slurm, cgroup v2: system.slice/slurmstepd.scope/job_7/step_0/user/task_3, <node>_slurmstepd.scope of several slurmd
    {"*slurmstepd.scope/job_{job}/step_{step}/user/task_{rank}", JOB, PLAIN},
    {"*slurmstepd.scope/job_{job}/step_{step}", JOB, PLAIN},
    {"*slurmstepd.scope/job_{job}", JOB, PLAIN},
    // Slurm, cgroup v1: /slurm/uid_1000/job_7/step_batch/task_0, /slurm_<node>/...
    {"slurm*/uid_*/job_{job}/step_{step}/task_{rank}", JOB, PLAIN},
    {"slurm*/uid_*/job_{job}/step_{step}", JOB, PLAIN},
    {"slurm*/uid_*/job_{job}", JOB, PLAIN},
    // Flux: with sdexec the unit bears the broker's rank, which is none of ours
    {"imp-shell-*-{job}.service", JOB, SYSTEMD},
    {"shell-*-{job}.service", JOB, SYSTEMD},
    {"flux-{job}.scope", JOB, SYSTEMD},
    // OpenPBS: pbspro.slice/pbspro-7.server.slice, /pbs_jobs.service/jobid/7.server; Torque: /torque/7.server
    {"pbspro-{job}.slice", JOB, SYSTEMD},
    {"jobid/{job}", JOB, SYSTEMD},
    {"torque/{job}", JOB, PLAIN},
    // LSF: /lsf/<cluster>/job.7.<pid>.<time>
    {"lsf/*/job.{job}.*.*", JOB, PLAIN},
    // OAR: /oar/<user>_<job>
    {"oar/*_{job}", JOB, PLAIN},
    // HTCondor: /htcondor/condor_<folder>_<slot>@<host>; which job is in the slot is not told
    {"htcondor/condor_{job}@*", JOB, PLAIN},
    // Kubernetes: the pod is the job, the container its step. With systemd:
    // kubepods-burstable-pod<uid>.slice/cri-containerd-<id>.scope; without: /kubepods/burstable/pod<uid>/<id>
    {"*kubepods*-pod{job}.slice/cri-containerd-{step}.scope", JOB, KUBERNETES},
    {"*kubepods*-pod{job}.slice/crio-{step}.scope", JOB, KUBERNETES},
    {"*kubepods*-pod{job}.slice/docker-{step}.scope", JOB, KUBERNETES},
    {"*kubepods*-pod{job}.slice", JOB, KUBERNETES},
    {"kubepods/pod{job}/{step}", JOB, KUBERNETES},
    {"kubepods/*/pod{job}/{step}", JOB, KUBERNETES},
    {"kubepods/*/pod{job}", JOB, KUBERNETES},
    // systemd: session-3.scope; user@1000.service/app.slice/run-u7.scope
    {"session-{job}.scope", LOGIN, PLAIN},
    {"user@*.service/*/{job}.scope", SCOPE, SYSTEMD},
    {"user@*.service/*/*/{job}.scope", SCOPE, SYSTEMD},
    {"user@*.service/{job}.scope", SCOPE, SYSTEMD},
};

#define COMPONENT_MAX 255 // bytes of a name, so a hostile line costs little
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum field { ANY, JOB_ID, STEP, RANK, FIELDS };

struct placeholder {
    const char *text;
    enum field field;
};
static const struct placeholder placeholders[] = {{"*", ANY}, {"{job}", JOB_ID}, {"{step}", STEP}, {"{rank}", RANK}};

static const struct placeholder *placeholder_at(const char *pattern)
{
    if (*pattern != '*' && *pattern != '{')
        return NULL;
    for (size_t i = 0; i < COUNT(placeholders); i++)
        if (strncmp(pattern, placeholders[i].text, strlen(placeholders[i].text)) == 0)
            return &placeholders[i];
    return NULL;
}

// Every process that attaches is matched against all patterns: most fail at their first byte.
// Matches `text` against a pattern from its start; true where the pattern is used up at the end of a component.
static bool matches(const char *pattern, const char *text, const char *end, struct ft_bytes captures[FIELDS])
{
    const struct placeholder *hole;
    for (; *pattern && !(hole = placeholder_at(pattern)); pattern++, text++)
        if (text == end || *text != *pattern)
            return false;
    if (!*pattern)
        return text == end || *text == '/';
    const char *rest = pattern + strlen(hole->text);
    for (const char *to = text + (hole->field != ANY);
         to <= end && to - text <= COMPONENT_MAX && (to == text || to[-1] != '/'); to++) {
        if (!matches(rest, to, end, captures))
            continue;
        captures[hole->field] = (struct ft_bytes){.data = text, .len = (size_t)(to - text)};
        return true;
    }
    return false;
}

static bool find_in_line(const char *pattern, const char *line, const char *end, struct ft_bytes captures[FIELDS])
{
    for (const char *at = line; at < end; at++)
        if ((at == line || at[-1] == '/') && matches(pattern, at, end, captures))
            return true;
    return false;
}

static bool find_in_text(const char *pattern, struct ft_bytes text, struct ft_bytes captures[FIELDS])
{
    const char *end = text.data + text.len;
    for (const char *line = text.data; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline ? newline : end;
        // "hierarchy:controllers:/path"
        const char *path = memchr(line, '/', (size_t)(line_end - line));
        memset(captures, 0, FIELDS * sizeof(*captures));
        if (path && find_in_line(pattern, path + 1, line_end, captures))
            return true;
        line = line_end + 1;
    }
    return false;
}

static int hex_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The name as its manager prints it. systemd writes what a unit's name may not hold as \xNN; Kubernetes has dashes of a
// pod's uid written as underscores.
static void spell(char *out, size_t room, struct ft_bytes from, enum spelling spelling)
{
    size_t used = 0;
    for (size_t i = 0; i < from.len && used < room; i++) {
        char c = from.data[i];
        bool is_escape = spelling == SYSTEMD && c == '\\' && from.len - i >= 4 && from.data[i + 1] == 'x' &&
                         hex_of(from.data[i + 2]) >= 0 && hex_of(from.data[i + 3]) >= 0;
        if (is_escape) {
            c = (char)(hex_of(from.data[i + 2]) * 16 + hex_of(from.data[i + 3]));
            i += 3;
        } else if (spelling == KUBERNETES && c == '_') {
            c = '-';
        }
        if (c)
            out[used++] = c;
    }
    out[used] = '\0';
}

static int32_t number_of(struct ft_bytes text)
{
    int32_t number = 0;
    if (!text.len || text.len > 9)
        return -1;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return -1;
        number = number * 10 + (text.data[i] - '0');
    }
    return number;
}

static void extract(const struct pattern *pattern, const struct ft_bytes captures[FIELDS], uint8_t source,
                    struct ft_identity *out)
{
    spell(out->job, FT_IDENTITY_JOB_MAX, captures[JOB_ID], pattern->spelling);
    spell(out->step, FT_IDENTITY_STEP_MAX, captures[STEP], pattern->spelling == SYSTEMD ? SYSTEMD : PLAIN);
    out->source = source;
    out->step_source = out->step[0] ? source : FT_JOB_SOURCE_UNKNOWN;
    out->rank = number_of(captures[RANK]);
    out->rank_source = out->rank >= 0 ? source : FT_JOB_SOURCE_UNKNOWN;
}

static const struct pattern *find_pattern(enum meaning meaning, struct ft_bytes text, struct ft_bytes captures[FIELDS])
{
    for (size_t i = 0; text.len && i < COUNT(patterns); i++)
        if (patterns[i].meaning == meaning && find_in_text(patterns[i].text, text, captures))
            return &patterns[i];
    return NULL;
}

// What was found last: processes come in crowds from the same cgroups, and going through all patterns for each was most
// of what the daemon did for a short process.
struct answer {
    enum meaning meaning;
    const struct pattern *pattern; // NULL: none fits
    struct ft_bytes captures[FIELDS];
    size_t text_len; // 0: not in use
    char text[2048];
};

static const struct answer *answer_for(enum meaning meaning, struct ft_bytes text)
{
    static _Thread_local struct answer answers[8];
    static _Thread_local unsigned next;
    for (size_t i = 0; i < COUNT(answers); i++)
        if (answers[i].text_len == text.len && answers[i].meaning == meaning &&
            memcmp(answers[i].text, text.data, text.len) == 0)
            return &answers[i];
    struct answer *answer = &answers[next++ % COUNT(answers)];
    memcpy(answer->text, text.data, text.len);
    answer->text_len = text.len;
    answer->meaning = meaning;
    answer->pattern = find_pattern(meaning, (struct ft_bytes){.data = answer->text, .len = text.len}, answer->captures);
    return answer;
}

static bool find(enum meaning meaning, struct ft_bytes text, uint8_t source, struct ft_identity *out)
{
    if (!text.len)
        return false;
    if (text.len <= sizeof(((struct answer *)NULL)->text)) {
        const struct answer *answer = answer_for(meaning, text);
        if (answer->pattern)
            extract(answer->pattern, answer->captures, source, out);
        return answer->pattern != NULL;
    }
    struct ft_bytes captures[FIELDS];
    const struct pattern *pattern = find_pattern(meaning, text, captures);
    if (pattern)
        extract(pattern, captures, source, out);
    return pattern != NULL;
}

bool ft_identity_from_cgroup(struct ft_bytes text, uint8_t source, struct ft_identity *out)
{
    return find(JOB, text, source, out);
}

bool ft_identity_session_from_cgroup(struct ft_bytes text, struct ft_identity *out)
{
    struct ft_identity login;
    if (!find(LOGIN, text, FT_JOB_SOURCE_SESSION, &login))
        return find(SCOPE, text, FT_JOB_SOURCE_SESSION, out);
    snprintf(out->job, sizeof(out->job), "session-%.180s", login.job);
    out->source = FT_JOB_SOURCE_SESSION;
    return true;
}

struct ft_bytes ft_identity_unified_line(struct ft_bytes text)
{
    static const char prefix[] = "0::/";
    const char *end = text.data + text.len;
    for (const char *line = text.data; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline ? newline : end;
        if ((size_t)(line_end - line) >= sizeof(prefix) - 1 && memcmp(line, prefix, sizeof(prefix) - 1) == 0)
            return (struct ft_bytes){.data = line, .len = (size_t)(line_end - line)};
        line = line_end + 1;
    }
    return (struct ft_bytes){.data = NULL, .len = 0};
}
