// SPDX-License-Identifier: MIT
/*
 * The variables that traced processes had. A process record says how many values were ignored; which ones is found by
 * the same checks as of an environment, over what the process told of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_calls.h"
#include "client/cli/cli.h"
#include "client/cli/doctor_trace.h"
#include "client/cli/map.h"

enum { LINES_MAX = 20 };

/* A list of NAME=VALUE. */
static char **make_environment(const struct ft_trace_process *record)
{
    char **list = ft_cli_alloc((record->claims_count + 1) * sizeof(*list));
    for (size_t i = 0; i < record->claims_count; i++) {
        const struct ft_tag *claim = &record->claims[i];
        list[i] = ft_cli_format("%.*s=%.*s", (int)claim->key.len, claim->key.len ? claim->key.data : "",
                                (int)claim->value.len, claim->value.len ? claim->value.data : "");
    }
    return list;
}

static void release_environment(char **list)
{
    for (size_t i = 0; list[i]; i++) {
        free(list[i]);
    }
    free(list);
}

/* Takes over what concerns a trace: values that were ignored, names that are none, patterns where nothing matched. */
static void take_findings(struct ft_doctor *doctor, const struct ft_doctor *other, struct ft_map *told, bool has_files)
{
    for (size_t i = 0; i < other->finding_count; i++) {
        const struct ft_finding *finding = &other->findings[i];
        bool is_pattern = !has_files && strcmp(finding->check, "filters") == 0;
        bool is_name = strcmp(finding->check, "names") == 0;
        bool is_new;
        if (finding->severity == FT_SEVERITY_OK || !(finding->ignored > 0 || is_pattern || is_name)) {
            continue;
        }
        ft_map_intern(told, finding->what, strlen(finding->what), 0, &is_new);
        if (is_new && told->count <= LINES_MAX) {
            ft_doctor_tell(doctor, finding->severity, finding->path, finding->advice, "traced processes had: %s",
                           finding->what);
        }
    }
}

static void look_at(struct ft_doctor *doctor, const struct ft_trace_process *record, struct ft_map *told,
                    bool has_files)
{
    static const struct {
        const char *name;
        ft_doctor_check *run;
    } checks[] = {{"names", ft_doctor_names}, {"settings", ft_doctor_settings}, {"filters", ft_doctor_filters}};
    struct ft_doctor *other = ft_cli_alloc(sizeof(*other));
    char **environment = make_environment(record);
    char *cwd = record->cwd.len ? ft_cli_format("%.*s", (int)record->cwd.len, record->cwd.data) : NULL;
    other->cwd = cwd;
    ft_doctor_read_settings(other, environment);
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        other->check = checks[i].name;
        checks[i].run(other);
    }
    take_findings(doctor, other, told, has_files);
    ft_doctor_release_findings(other);
    release_environment(environment);
    free(cwd);
    free(other);
}

/* Processes with the same variables are looked at once. */
static bool is_first_alike(struct ft_map *seen, const struct ft_trace_process *record)
{
    size_t bytes = sizeof(record->bad_values);
    for (size_t i = 0; i < record->claims_count; i++) {
        bytes += record->claims[i].key.len + record->claims[i].value.len + 2;
    }
    char *key = ft_cli_alloc(bytes), *at = key;
    memcpy(at, &record->bad_values, sizeof(record->bad_values));
    at += sizeof(record->bad_values);
    for (size_t i = 0; i < record->claims_count; i++) {
        const struct ft_bytes parts[] = {record->claims[i].key, record->claims[i].value};
        for (int k = 0; k < 2; k++) {
            if (parts[k].len > 0) {
                memcpy(at, parts[k].data, parts[k].len);
            }
            at += parts[k].len + 1;
        }
    }
    bool is_new;
    ft_map_intern(seen, key, bytes, 0, &is_new);
    free(key);
    return is_new;
}

/* The rules of all processes, each list once, beside the spans of the whole job. */
static void look_at_functions(struct ft_doctor *doctor, const struct ft_trace_set *set)
{
    static const char name[] = "FLOWTAP_FUNCTIONS";
    struct ft_map seen;
    struct ft_calls calls;
    bool is_new;
    ft_map_init(&seen);
    ft_calls_init(&calls);
    for (uint32_t p = 0; p < ft_trace_set_process_count(set); p++) {
        const struct ft_trace_process *record = ft_trace_set_process(set, p)->record;
        for (size_t i = 0; i < record->claims_count; i++) {
            const struct ft_tag *claim = &record->claims[i];
            if (claim->key.len != strlen(name) || memcmp(claim->key.data, name, strlen(name)) != 0) {
                continue;
            }
            if (seen.count == 0) {
                ft_calls_read(&calls, set);
            }
            ft_map_intern(&seen, claim->value.data, claim->value.len, 0, &is_new);
            if (is_new && seen.count <= LINES_MAX) {
                char *value = ft_cli_format("%.*s", (int)claim->value.len, claim->value.len ? claim->value.data : "");
                ft_doctor_trace_functions(doctor, value, &calls);
                free(value);
            }
        }
    }
    ft_calls_fini(&calls);
    ft_map_fini(&seen);
}

void ft_doctor_trace_settings(struct ft_doctor *doctor, const struct ft_trace_set *set, bool has_files)
{
    struct ft_map seen, told;
    size_t before = doctor->finding_count;
    uint64_t ignored = 0;
    ft_map_init(&seen);
    ft_map_init(&told);
    for (uint32_t p = 0; p < ft_trace_set_process_count(set); p++) {
        const struct ft_trace_process *record = ft_trace_set_process(set, p)->record;
        ignored = record->bad_values > ignored ? record->bad_values : ignored;
        if (is_first_alike(&seen, record)) {
            look_at(doctor, record, &told, has_files);
        }
    }
    doctor->settings_ignored = (unsigned)(ignored > UINT32_MAX ? UINT32_MAX : ignored);
    doctor->settings_told = doctor->settings_ignored;
    if (ignored > 0 && doctor->finding_count == before) {
        ft_doctor_problem(doctor, NULL, "look at what it was started with: `flowtap doctor` in the same environment",
                          "values of FLOWTAP variables were ignored; the trace does not tell which");
    }
    look_at_functions(doctor, set);
    ft_map_fini(&seen);
    ft_map_fini(&told);
}
