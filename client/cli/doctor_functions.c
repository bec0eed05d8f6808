// SPDX-License-Identifier: MIT
// FLOWTAP_FUNCTIONS and FLOWTAP_LEVELS.
#include <dirent.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_calls.h"
#include "client/cli/cli.h"
#include "client/cli/doctor.h"
#include "client/cli/symbols.h"

/* The first of them by name, in the folder; a new string, NULL: none. */
static char *find_library_below(const char *folder, const struct ft_setting_rule *rule)
{
    DIR *stream = opendir(folder);
    char *found = NULL;
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        if (ft_setting_rule_is_of(rule, entry->d_name, strlen(entry->d_name)) &&
            (!found || strcmp(entry->d_name, found) < 0)) {
            free(found);
            found = ft_cli_strdup(entry->d_name);
        }
    }
    if (stream) {
        closedir(stream);
    }
    char *path = found ? ft_cli_format("%s/%s", folder, found) : NULL;
    free(found);
    return path;
}

/* `folders` is a pattern of them. */
static char *find_library_in(const char *folders, size_t bytes, const struct ft_setting_rule *rule)
{
    char *pattern = ft_cli_format("%.*s", (int)bytes, folders), *path = NULL;
    glob_t matched = {.gl_pathc = 0};
    if (glob(pattern, 0, NULL, &matched) == 0) {
        for (size_t i = 0; i < matched.gl_pathc && !path; i++) {
            path = find_library_below(matched.gl_pathv[i], rule);
        }
    }
    globfree(&matched);
    free(pattern);
    return path;
}

static const char *variable_of(const struct ft_doctor *doctor, const char *name)
{
    size_t bytes = strlen(name);
    for (char *const *at = doctor->environment; at && *at; at++) {
        if (strncmp(*at, name, bytes) == 0 && (*at)[bytes] == '=') {
            return *at + bytes + 1;
        }
    }
    return NULL;
}

/* In the folders that ld.so looks into by itself, and those of LD_LIBRARY_PATH. */
static char *find_library(const struct ft_doctor *doctor, const struct ft_setting_rule *rule)
{
    static const char usual[] = "/lib:/usr/lib:/lib64:/usr/lib64:/usr/local/lib:/lib/*-linux-gnu:/usr/lib/*-linux-gnu";
    const char *lists[] = {variable_of(doctor, "LD_LIBRARY_PATH"), usual}, *folder;
    size_t bytes;
    char *path = NULL;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        const char *list = lists[i], *end = list ? list + strlen(list) : NULL;
        while (!path && ft_setting_next(&list, end, ':', &folder, &bytes)) {
            path = bytes > 0 ? find_library_in(folder, bytes, rule) : NULL;
        }
    }
    return path;
}

static bool fits(const struct ft_setting_rule *rule, const char *name)
{
    return ft_setting_is_in_list(rule->functions, rule->functions_n, name, strlen(name));
}

static const char *first_fitting(const struct ft_setting_rule *rule, const struct ft_symbols *symbols)
{
    for (size_t i = 0; i < symbols->count; i++) {
        const char *name = symbols->names + symbols->items[i].name;
        if (fits(rule, name)) {
            return name;
        }
    }
    return NULL;
}

static void check_library(struct ft_doctor *doctor, const struct ft_setting_rule *rule)
{
    struct ft_symbols symbols;
    char *path = find_library(doctor, rule);
    if (!path) {
        ft_doctor_note(doctor, NULL, "give the name of its file, as libhdf5.so:H5D*,H5F*",
                       "FLOWTAP_FUNCTIONS: no library '%s' is where libraries usually are",
                       ft_doctor_quote(rule->library, rule->library_n));
    } else if (ft_symbols_read_exported(&symbols, path)) {
        if (!first_fitting(rule, &symbols)) {
            ft_doctor_note(doctor, path, "`nm -D --defined-only` lists its functions",
                           "FLOWTAP_FUNCTIONS: %s has no function '%s' that others could call", path,
                           ft_doctor_quote(rule->functions, rule->functions_n));
        }
        ft_symbols_fini(&symbols);
    }
    free(path);
}

/* The next rule that is used. */
static bool next_rule(const char **list, const char *end, size_t *taken, struct ft_setting_rule *rule)
{
    const char *item;
    size_t bytes;
    while (ft_setting_next(list, end, ';', &item, &bytes)) {
        if (bytes > 0 && ft_setting_use_of_rule(item, bytes, *taken, rule) == FT_SETTING_USED) {
            ++*taken;
            return true;
        }
    }
    return false;
}

static void look_for_linked(struct ft_doctor *doctor, const struct ft_elf *elf, const struct ft_symbols *symbols)
{
    const char *list = doctor->values[FT_SETTING_FLOWTAP_FUNCTIONS], *end = list ? list + strlen(list) : NULL, *name;
    struct ft_setting_rule rule;
    size_t taken = 0;
    while (next_rule(&list, end, &taken, &rule)) {
        if ((name = first_fitting(&rule, symbols))) {
            ft_doctor_note(doctor, elf->path, "link that library dynamically, or name functions of other libraries",
                           "FLOWTAP_FUNCTIONS: %s has '%s' in itself: calls of that are not seen", elf->path, name);
        }
    }
}

void ft_doctor_command_functions(struct ft_doctor *doctor, const struct ft_elf *elf)
{
    struct ft_symbols symbols;
    const char *preload = variable_of(doctor, "LD_PRELOAD");
    if (elf->is_instrumented && !(preload && strstr(preload, "libflowtap-functions"))) {
        ft_doctor_note(doctor, elf->path, "link it with -lflowtap-functions, or put that library into LD_PRELOAD",
                       "%s is built with -finstrument-functions, and no library records its functions", elf->path);
    }
    if (doctor->values[FT_SETTING_FLOWTAP_FUNCTIONS] && ft_symbols_read_defined(&symbols, elf->path)) {
        look_for_linked(doctor, elf, &symbols);
        ft_symbols_fini(&symbols);
    }
}

void ft_doctor_trace_functions(struct ft_doctor *doctor, const char *value, const struct ft_calls *calls)
{
    const char *list = value, *end = value + strlen(value);
    struct ft_setting_rule rule;
    size_t taken = 0;
    while (next_rule(&list, end, &taken, &rule)) {
        bool is_found = false;
        for (size_t i = 0; i < calls->count && !is_found; i++) {
            is_found = calls->items[i].is_span && fits(&rule, calls->items[i].name);
        }
        if (!is_found) {
            ft_doctor_note(doctor, NULL,
                           "it was not loaded, or is linked statically, or calls itself alone: `flowtap doctor -- "
                           "COMMAND` looks",
                           "FLOWTAP_FUNCTIONS: no call of '%s' in '%s' was seen",
                           ft_doctor_quote(rule.functions, rule.functions_n),
                           ft_doctor_quote(rule.library, rule.library_n));
        }
    }
}

void ft_doctor_functions(struct ft_doctor *doctor, const char *value)
{
    const char *list = value, *end = value + strlen(value), *item, *first = NULL;
    size_t bytes, first_bytes = 0, taken = 0, rules = 0;
    unsigned ignored = 0;
    struct ft_setting_rule rule;
    while (ft_setting_next(&list, end, ';', &item, &bytes)) {
        if (bytes == 0) {
            continue;
        }
        rules++;
        if (ft_setting_use_of_rule(item, bytes, taken, &rule) == FT_SETTING_USED) {
            taken++;
            check_library(doctor, &rule);
        } else if (ignored++ == 0) {
            first = item;
            first_bytes = bytes;
        }
    }
    doctor->settings_ignored += ignored;
    if (ignored > 0) {
        ft_doctor_problem(doctor, NULL, "write library:function,function;library:function",
                          "FLOWTAP_FUNCTIONS: %u of %zu rules ignored, the first is '%s': %s", ignored, rules,
                          ft_doctor_quote(first, first_bytes),
                          taken == FT_SETTING_FUNCTIONS_MAX ? "there are more than 32"
                                                            : "a rule is library:function,function");
    } else if (rules == 0) {
        ft_doctor_note(doctor, NULL, "unset it, or write library:function,function", "FLOWTAP_FUNCTIONS holds no rule");
    }
}

void ft_doctor_levels(struct ft_doctor *doctor, const char *value)
{
    enum ft_setting_use use = ft_setting_use_of_levels(value);
    if (use == FT_SETTING_IGNORED) {
        doctor->settings_ignored++;
        ft_doctor_problem(doctor, NULL, "set it to 0 or unset it",
                          "FLOWTAP_LEVELS='%s' is ignored: it is neither 0 nor 1",
                          ft_doctor_quote(value, strlen(value)));
    } else if (use == FT_SETTING_OFF) {
        ft_doctor_note(doctor, NULL, "unset it", "FLOWTAP_LEVELS=0: no spans of MPI-IO, HDF5 and NetCDF");
    }
}
