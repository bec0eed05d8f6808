// SPDX-License-Identifier: MIT
/* Checks of the include and exclude patterns: those that are ignored, that cannot match, that leave nothing over. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/cli/cli.h"
#include "client/cli/doctor.h"
#include "proto/policy.pb-c.h"

#define WILDCARDS "*?[\\"

/* Patterns that count, the daemon's and the variable's, as they are matched. */
struct filter {
    const char *name;
    bool is_include;
    bool is_site;      /* of the daemon's policy alone */
    unsigned hopeless; /* that cannot match */
    char *patterns[FT_SETTING_GLOBS_MAX];
    unsigned count;
    unsigned own; /* of the variable */
};

/* A pattern with each set taken for one `?`: then no byte of it stands for itself that does not. */
static char *without_sets(const char *pattern)
{
    char *plain = ft_cli_strdup(pattern), *to = plain;
    for (const char *at = pattern; *at; at++) {
        size_t negation = at[0] == '[' && (at[1] == '!' || at[1] == '^');
        const char *end = at[0] == '[' && at[1 + negation] ? strchr(at + 2 + negation, ']') : NULL;
        *to++ = end ? '?' : *at;
        at = end ? end : at;
    }
    *to = '\0';
    return plain;
}

/* Literal text and stars alone, against text. */
static bool is_matched(const char *pattern, const char *text)
{
    const char *star = NULL, *retry = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            retry = text;
        } else if (*pattern && *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++retry;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

/*
 * Where the outer one has no wildcard but the star, it covers what it matches when the inner one's wildcards are taken
 * for bytes of a path: only its stars can have taken those.
 */
bool ft_doctor_glob_covers(const char *outer, const char *inner)
{
    const char *stars = outer + (*outer == '/');
    if (strcmp(outer, inner) == 0 || (*stars && stars[strspn(stars, "*")] == '\0')) {
        return true; /* "*" and "/" with a star: every path is absolute */
    }
    if (strpbrk(outer, "?[]\\")) {
        return false;
    }
    char *plain = without_sets(inner);
    bool covers = is_matched(outer, plain);
    free(plain);
    return covers;
}

/* The pattern as the recorder joins and squeezes it; NULL where it has no working directory to join it to. */
static char *resolve(const struct ft_doctor *doctor, const char *pattern, size_t bytes)
{
    bool is_relative = ft_setting_glob_is_relative(pattern);
    if (is_relative && !doctor->cwd) {
        return NULL;
    }
    char *whole =
        ft_cli_format("%s%s%.*s", is_relative ? doctor->cwd : "", is_relative ? "/" : "", (int)bytes, pattern);
    char *to = whole;
    for (const char *at = whole; *at;) {
        bool is_nothing = at[0] == '/' && (at[1] == '/' || at[1] == '\0');
        bool is_dot = at[0] == '/' && at[1] == '.' && (at[2] == '/' || at[2] == '\0');
        if (is_nothing || is_dot) {
            at += is_dot ? 2 : 1;
        } else {
            *to++ = *at++;
        }
    }
    if (to == whole && *whole) {
        to++;
    }
    *to = '\0';
    return whole;
}

static void tell_no_match(struct ft_doctor *doctor, struct filter *filter, const char *given, const char *path,
                          const char *why, const char *advice)
{
    filter->hopeless++;
    ft_doctor_tell(doctor, filter->is_include && !filter->is_site ? FT_SEVERITY_PROBLEM : FT_SEVERITY_NOTE, path,
                   advice, "%s: '%s' cannot match: %s%s", filter->name, given, why, path);
}

/* What the file system says of the part before the first wildcard. */
static void look_at_folder(struct ft_doctor *doctor, struct filter *filter, const char *given, const char *pattern)
{
    size_t literal = strcspn(pattern, WILDCARDS);
    bool is_literal = pattern[literal] == '\0';
    struct stat st;
    char *path = ft_cli_format("%.*s", (int)literal, pattern), *slash = strrchr(path, '/');
    if (is_literal && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        tell_no_match(doctor, filter, given, path,
                      "it names the folder alone, not what is in it: ", "put /* behind it");
    } else if (slash && slash != path) {
        *slash = '\0';
        if (stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR)) {
            tell_no_match(doctor, filter, given, path, "there is no folder ",
                          strchr(given, ',')     ? "separate patterns by colons, not commas"
                          : strpbrk(given, "~$") ? "write the path out: ~ and variables are the shell's to replace"
                          : given[0] == ' '      ? "take the blank before it away"
                          : given[0] != '/'
                              ? "relative patterns are taken from the current folder: give an absolute one"
                              : "correct it, or make the folder first");
        } else if (is_literal && filter->is_include) {
            *slash = '/';
            if (stat(path, &st) < 0 && errno == ENOENT) {
                ft_doctor_note(doctor, path,
                               strchr(given, ',') ? "separate patterns by colons, not commas"
                                                  : "it matches when there is one",
                               "%s: '%s' names a file that is not there yet: %s", filter->name, given, path);
            }
        }
    }
    free(path);
}

static bool has_dot_dot(const char *pattern)
{
    for (const char *at = strstr(pattern, "/.."); at; at = strstr(at + 1, "/..")) {
        if (at[3] == '/' || at[3] == '\0') {
            return true;
        }
    }
    return false;
}

static void look_at_pattern(struct ft_doctor *doctor, struct filter *filter, const char *given, const char *pattern)
{
    if (has_dot_dot(pattern)) {
        tell_no_match(doctor, filter, given, pattern,
                      "`..` stays in names only where a program writes it: ", "write the path without `..`");
    } else if (pattern[0] == '/') {
        look_at_folder(doctor, filter, given, pattern);
    }
}

/* One pattern of the variable. */
static void add(struct ft_doctor *doctor, struct filter *filter, const char *item, size_t bytes)
{
    char *pattern = bytes < FT_PAGE_BYTES ? resolve(doctor, item, bytes) : NULL;
    const char *quote = ft_doctor_quote(item, bytes);
    filter->own++;
    if (!pattern || ft_setting_use_of_glob(strlen(pattern), filter->count) == FT_SETTING_IGNORED) {
        doctor->settings_ignored++;
        ft_doctor_problem(doctor, NULL,
                          bytes < FT_PAGE_BYTES && !pattern ? "give an absolute one"
                                                            : "shorten the pattern, or give fewer",
                          "%s: '%s' is ignored: %s", filter->name, quote,
                          filter->count == FT_SETTING_GLOBS_MAX ? "there are more than 32 patterns"
                          : bytes < FT_PAGE_BYTES && !pattern   ? "it is relative, and there is no current folder"
                                                                : "it has 4096 bytes or more");
        free(pattern);
        return;
    }
    look_at_pattern(doctor, filter, quote, pattern);
    filter->patterns[filter->count++] = pattern;
}

static void read_filter(struct ft_doctor *doctor, struct filter *filter, const char *value, size_t policy_count,
                        const ProtobufCBinaryData *policy)
{
    const char *item, *end = value ? value + strlen(value) : NULL;
    size_t bytes;
    for (size_t i = 0; i < policy_count && filter->count < FT_SETTING_GLOBS_MAX; i++) {
        filter->patterns[filter->count++] = ft_cli_format("%.*s", (int)policy[i].len, (const char *)policy[i].data);
    }
    while (ft_setting_next(&value, end, ':', &item, &bytes)) {
        if (bytes > 0) {
            add(doctor, filter, item, bytes);
        }
    }
}

static bool is_covered(const struct filter *exclude, const char *pattern)
{
    for (unsigned i = 0; i < exclude->count; i++) {
        if (ft_doctor_glob_covers(exclude->patterns[i], pattern)) {
            return true;
        }
    }
    return false;
}

static void look_at_both(struct ft_doctor *doctor, const struct filter *include, const struct filter *exclude)
{
    unsigned covered = 0;
    for (unsigned i = 0; i < include->count; i++) {
        covered += is_covered(exclude, include->patterns[i]);
    }
    if (include->count > 0 && covered == include->count) {
        ft_doctor_problem(doctor, NULL, "take one of them away",
                          "the exclude patterns cover all that the include patterns name: no file is recorded");
    } else if (include->count == 0 && is_covered(exclude, "/*")) {
        ft_doctor_problem(doctor, NULL, "take it away", "the exclude patterns cover every path: no file is recorded");
    } else if (covered > 0) {
        ft_doctor_note(doctor, NULL, "take one of each pair away",
                       "the exclude patterns cover %u of the %u include patterns", covered, include->count);
    }
}

/* By what stands before their first wildcards: no path begins with both. */
static bool is_disjoint(const char *a, const char *b)
{
    size_t a_literal = strcspn(a, WILDCARDS), b_literal = strcspn(b, WILDCARDS);
    size_t common = a_literal < b_literal ? a_literal : b_literal;
    return strncmp(a, b, common) != 0 || (a_literal < b_literal && !a[a_literal]) ||
           (b_literal < a_literal && !b[b_literal]);
}

static bool leaves_nothing(const struct filter *site, const struct filter *include)
{
    for (unsigned i = 0; i < site->count; i++) {
        for (unsigned k = 0; k < include->count; k++) {
            if (!is_disjoint(site->patterns[i], include->patterns[k])) {
                return false;
            }
        }
    }
    return site->count > 0 && include->count > 0;
}

/* A path has to match one of the daemon's, and one of the variable's: the one does not widen the other. */
static void look_at_site(struct ft_doctor *doctor, struct filter *site, const struct filter *include,
                         const struct filter *exclude)
{
    unsigned covered = 0;
    for (unsigned i = 0; i < site->count; i++) {
        look_at_pattern(doctor, site, ft_doctor_quote(site->patterns[i], strlen(site->patterns[i])), site->patterns[i]);
        covered += is_covered(exclude, site->patterns[i]);
    }
    if (site->count > 0 && site->hopeless == site->count) {
        ft_doctor_problem(doctor, NULL, "correct include in flowtapd.conf, or make the folder first",
                          "nothing that the daemon's include names can be there: no file is recorded");
    } else if (leaves_nothing(site, include)) {
        ft_doctor_problem(doctor, NULL, "unset FLOWTAP_INCLUDE, or name paths that the daemon's include names, too",
                          "no path matches both FLOWTAP_INCLUDE and the daemon's include: no file is recorded");
    } else if (site->count > 0 && covered == site->count) {
        ft_doctor_problem(doctor, NULL, "take one of them away",
                          "the exclude patterns cover all that the daemon's include names: no file is recorded");
    }
}

static void tell_empty(struct ft_doctor *doctor, const struct filter *filter, const char *value)
{
    if (value && filter->own == 0) {
        ft_doctor_note(doctor, NULL, "unset it, or name patterns separated by colons", "%s holds no pattern: %s",
                       filter->name, filter->is_include ? "every path is recorded" : "nothing is left out");
    }
}

static void release(struct filter *filter)
{
    for (unsigned i = 0; i < filter->count; i++) {
        free(filter->patterns[i]);
    }
}

void ft_doctor_filters(struct ft_doctor *doctor)
{
    struct filter include = {.name = "FLOWTAP_INCLUDE", .is_include = true}, exclude = {.name = "FLOWTAP_EXCLUDE"};
    struct filter site = {.name = "the daemon's include", .is_include = true, .is_site = true};
    const char *include_value = doctor->values[FT_SETTING_FLOWTAP_INCLUDE];
    const char *exclude_value = doctor->values[FT_SETTING_FLOWTAP_EXCLUDE];
    const Flowtap__Policy *policy = doctor->policy;
    size_t before = doctor->finding_count;
    read_filter(doctor, &site, NULL, policy ? policy->n_include : 0, policy ? policy->include : NULL);
    read_filter(doctor, &include, include_value, 0, NULL);
    read_filter(doctor, &exclude, exclude_value, policy ? policy->n_exclude : 0, policy ? policy->exclude : NULL);
    tell_empty(doctor, &include, include_value);
    tell_empty(doctor, &exclude, exclude_value);
    look_at_both(doctor, &include, &exclude);
    look_at_site(doctor, &site, &include, &exclude);
    if (doctor->finding_count == before) {
        ft_doctor_ok(doctor, NULL,
                     site.count + include.count + exclude.count > 0 ? "the patterns leave something to record"
                                                                    : "no pattern is set: every path is recorded");
    }
    release(&site);
    release(&include);
    release(&exclude);
}
