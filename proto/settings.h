// SPDX-License-Identifier: MIT
/*
 * The environment variables of a traced program: their names, and when a value is used, ignored or switches off. One
 * place for the shim, which acts on them, the daemon, which reads tags and job, and `flowtap doctor`, which explains.
 *
 * Functions of text alone, without libc: the shim may call none. A value that is ignored is counted once per image in
 * ft_head.settings_ignored (tags: by the daemon, once per word), and both are `settings_ignored` of a process.
 */
#ifndef FT_PROTO_SETTINGS_H
#define FT_PROTO_SETTINGS_H

#include <stddef.h>

#include "proto/control.h"
#include "proto/glob.h"
#include "proto/ring.h"

/* name, what it does */
#define FT_SETTINGS(X)                                                                        \
    X(FLOWTAP, "1 records, where the library is preloaded; 0 does not")                       \
    X(FLOWTAP_SOCKET, "absolute path of the daemon's socket")                                 \
    X(FLOWTAP_JOB, "name of the job, where no workload manager tells one")                    \
    X(FLOWTAP_WORKFLOW, "name of the workflow that the job belongs to")                       \
    X(FLOWTAP_TAGS, "key=value, separated by commas")                                         \
    X(FLOWTAP_INCLUDE, "patterns of paths to record, separated by colons; none: all of them") \
    X(FLOWTAP_EXCLUDE, "patterns of paths not to record, separated by colons")                \
    X(FLOWTAP_MODE, "trace, profile or off")                                                  \
    X(FLOWTAP_FUNCTIONS, "library:functions of libraries to record, separated by semicolons") \
    X(FLOWTAP_LEVELS, "0: no spans of MPI-IO, HDF5 and NetCDF")                               \
    X(FLOWTAP_DEBUG, "1: attaching says on stderr what it does")

enum ft_setting {
#define FT_SETTING_ENUM(name, what) FT_SETTING_##name,
    FT_SETTINGS(FT_SETTING_ENUM) FT_SETTING_COUNT
#undef FT_SETTING_ENUM
};

enum ft_setting_use {
    FT_SETTING_USED,
    FT_SETTING_OFF,    /* nothing is recorded, as the value says */
    FT_SETTING_IGNORED /* as if it were not set, and counted (FLOWTAP itself: nothing is recorded) */
};

enum {
    FT_SETTING_GLOBS_MAX = 32,          /* patterns of a list; to exclude, the policy file's are among them */
    FT_SETTING_FUNCTIONS_MAX = 32,      /* rules of FLOWTAP_FUNCTIONS */
    FT_SETTING_TAGS_MAX = 64,           /* tags of a process */
    FT_SETTING_JOB_BYTES_MAX = 200,     /* of FLOWTAP_JOB; what is longer is cut */
    FT_SETTING_CLAIMS_BYTES_MAX = 16384 /* of all variables that a process tells of itself; others are left out */
};

/* A variable, as NAME=VALUE, that a process tells of itself. */
static inline int ft_setting_is_claim(const char *variable)
{
    static const char *const prefixes[] = {
        "FLOWTAP", "SLURM_",          "FLUX_",           "PBS_",  "LSB_",  "LSF_PM_",     "OMPI_COMM_WORLD_", "PMI_",
        "PMIX_",   "MPI_LOCALRANKID", "MV2_COMM_WORLD_", "PALS_", "RANK=", "LOCAL_RANK=", "WORLD_SIZE="};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        size_t n = 0;
        while (prefixes[i][n] != 0 && prefixes[i][n] == variable[n])
            n++;
        if (prefixes[i][n] == 0)
            return 1;
    }
    return 0;
}

static inline int ft_setting_is(const char *value, const char *word)
{
    while (*word != 0 && *value == *word)
        value++, word++;
    return *value == *word;
}

/* FLOWTAP itself. */
static inline enum ft_setting_use ft_setting_use_of_on(const char *value)
{
    if (ft_setting_is(value, "1"))
        return FT_SETTING_USED;
    return ft_setting_is(value, "0") || ft_setting_is(value, "") ? FT_SETTING_OFF : FT_SETTING_IGNORED;
}

static inline enum ft_setting_use ft_setting_use_of_mode(const char *value)
{
    if (ft_setting_is(value, "trace") || ft_setting_is(value, "profile"))
        return FT_SETTING_USED;
    return ft_setting_is(value, "off") ? FT_SETTING_OFF : FT_SETTING_IGNORED;
}

static inline enum ft_setting_use ft_setting_use_of_socket(const char *value)
{
    size_t n = 0;
    while (value[n] != 0 && n < FT_SOCKET_PATH_MAX)
        n++;
    return value[0] == '/' && n < FT_SOCKET_PATH_MAX ? FT_SETTING_USED : FT_SETTING_IGNORED;
}

static inline enum ft_setting_use ft_setting_use_of_debug(const char *value)
{
    return ft_setting_use_of_on(value);
}

/* 0: none of the functions that are recorded without being named. */
static inline enum ft_setting_use ft_setting_use_of_levels(const char *value)
{
    if (ft_setting_is(value, "0"))
        return FT_SETTING_OFF;
    return ft_setting_is(value, "1") || ft_setting_is(value, "") ? FT_SETTING_USED : FT_SETTING_IGNORED;
}

/* Takes the next item off a list; 0 at its end. An item may be empty. */
static inline int ft_setting_next(const char **list, const char *end, char separator, const char **item, size_t *n)
{
    const char *at = *list;
    if (at == NULL || at == end)
        return 0;
    while (at != end && *at != separator)
        at++;
    *item = *list;
    *n = (size_t)(at - *list);
    *list = at != end ? at + 1 : at;
    return 1;
}

/* A pattern of n bytes is relative to the working directory; then it is joined to it by a slash. */
static inline int ft_setting_glob_is_relative(const char *pattern)
{
    return pattern[0] != '/' && pattern[0] != '*';
}

/* `n` bytes as it is matched, where a list holds `count` patterns by now. Empty ones are skipped, not ignored. */
static inline enum ft_setting_use ft_setting_use_of_glob(size_t n, unsigned count)
{
    return n < FT_PAGE_BYTES && count < FT_SETTING_GLOBS_MAX ? FT_SETTING_USED : FT_SETTING_IGNORED;
}

/* A rule of FLOWTAP_FUNCTIONS: [category=]library:function[,function]…, both as patterns. */
struct ft_setting_rule {
    const char *category, *library, *functions; /* category_n 0: none is given */
    size_t category_n, library_n, functions_n;
};

/* One item of it, where `count` were taken by now. Empty ones are skipped, not ignored. */
static inline enum ft_setting_use ft_setting_use_of_rule(const char *item, size_t n, size_t count,
                                                         struct ft_setting_rule *rule)
{
    size_t colon = 0, equals = 0, names = 0;
    while (colon < n && item[colon] != ':')
        colon++;
    while (equals < colon && item[equals] != '=')
        equals++;
    int has_category = equals < colon;
    size_t first = has_category ? equals + 1 : 0;
    for (size_t i = colon + 1; i < n; i++)
        names += item[i] != ',';
    if (colon >= n || first == colon || (has_category && equals == 0) || names == 0 ||
        count >= FT_SETTING_FUNCTIONS_MAX)
        return FT_SETTING_IGNORED;
    *rule = (struct ft_setting_rule){.category = item,
                                     .category_n = has_category ? equals : 0,
                                     .library = item + first,
                                     .library_n = colon - first,
                                     .functions = item + colon + 1,
                                     .functions_n = n - colon - 1};
    return FT_SETTING_USED;
}

/* Whether one of the patterns, which commas separate, matches. */
static inline int ft_setting_is_in_list(const char *list, size_t list_n, const char *name, size_t n)
{
    const char *end = list + list_n, *pattern;
    size_t pattern_n;
    while (ft_setting_next(&list, end, ',', &pattern, &pattern_n))
        if (pattern_n > 0 && ft_glob_match(pattern, pattern_n, name, n))
            return 1;
    return 0;
}

/* Whether the rule is about this library, by the name of its file: "libx.so" is libx.so.7, too. */
static inline int ft_setting_rule_is_of(const struct ft_setting_rule *rule, const char *library, size_t n)
{
    if (ft_glob_match(rule->library, rule->library_n, library, n))
        return 1;
    for (size_t i = 1; i < n; i++)
        if (library[i] == '.' && ft_glob_match(rule->library, rule->library_n, library, i))
            return 1;
    return 0;
}

/* One item of FLOWTAP_TAGS, where `count` were taken by now. Empty ones are skipped, not ignored. */
static inline enum ft_setting_use ft_setting_use_of_tag(const char *tag, size_t n, size_t count, size_t *key_bytes)
{
    size_t equals = 0;
    while (equals < n && tag[equals] != '=')
        equals++;
    *key_bytes = equals;
    return equals > 0 && equals < n && count < FT_SETTING_TAGS_MAX ? FT_SETTING_USED : FT_SETTING_IGNORED;
}

#endif
