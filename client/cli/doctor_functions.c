// SPDX-License-Identifier: MIT
// FLOWTAP_FUNCTIONS and FLOWTAP_LEVELS.
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/doctor.h"

static bool has_library_in(const char *folder, size_t folder_bytes, const struct ft_setting_rule *rule)
{
    static const char *const endings[] = {"", ".*"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        char *pattern =
            ft_cli_format("%.*s/%.*s%s", (int)folder_bytes, folder, (int)rule->library_n, rule->library, endings[i]);
        glob_t found = {.gl_pathc = 0};
        bool is_there = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
        globfree(&found);
        free(pattern);
        if (is_there) {
            return true;
        }
    }
    return false;
}

/* In the folders that ld.so looks into by itself, and those of LD_LIBRARY_PATH. */
static bool has_library(const struct ft_doctor *doctor, const struct ft_setting_rule *rule)
{
    static const char usual[] = "/lib:/usr/lib:/lib64:/usr/lib64:/usr/local/lib:/lib/*-linux-gnu:/usr/lib/*-linux-gnu";
    const char *lists[] = {usual, NULL}, *folder;
    size_t bytes;
    for (char *const *at = doctor->environment; at && *at; at++) {
        if (strncmp(*at, "LD_LIBRARY_PATH=", 16) == 0) {
            lists[1] = *at + 16;
        }
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        const char *list = lists[i], *end = list ? list + strlen(list) : NULL;
        while (ft_setting_next(&list, end, ':', &folder, &bytes)) {
            if (bytes > 0 && has_library_in(folder, bytes, rule)) {
                return true;
            }
        }
    }
    return false;
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
            if (!has_library(doctor, &rule)) {
                ft_doctor_note(doctor, NULL, "give the name of its file, as libhdf5.so:H5D*,H5F*",
                               "FLOWTAP_FUNCTIONS: no library '%s' is where libraries usually are",
                               ft_doctor_quote(rule.library, rule.library_n));
            }
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
