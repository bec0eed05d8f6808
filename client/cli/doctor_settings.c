// SPDX-License-Identifier: MIT
/* Checks of the FLOWTAP variables: their names, and whether their values are used, by the rules of proto/settings.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/doctor.h"

enum { DISTANCE_MAX = 2, NAME_BYTES_MAX = 64 };

static const struct {
    const char *name, *what;
} known[] = {
#define ROW(name, what) {#name, what},
    FT_SETTINGS(ROW)
#undef ROW
};

/* Levenshtein's distance, capitals and small letters alike, over one row of the matrix. */
unsigned ft_doctor_distance(const char *a, const char *b, unsigned most)
{
    unsigned row[NAME_BYTES_MAX + 1];
    size_t a_bytes = strlen(a), b_bytes = strlen(b);
    if (a_bytes > NAME_BYTES_MAX || b_bytes > NAME_BYTES_MAX) {
        return most + 1;
    }
    for (unsigned k = 0; k <= b_bytes; k++) {
        row[k] = k;
    }
    for (size_t i = 1; i <= a_bytes; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t k = 1; k <= b_bytes; k++) {
            unsigned above = row[k];
            bool is_same = toupper((unsigned char)a[i - 1]) == toupper((unsigned char)b[k - 1]);
            unsigned least = above < row[k - 1] ? above + 1 : row[k - 1] + 1;
            row[k] = diagonal + !is_same < least ? diagonal + !is_same : least;
            diagonal = above;
        }
    }
    return row[b_bytes] < most + 1 ? row[b_bytes] : most + 1;
}

static int find_known(const char *name, size_t bytes)
{
    for (int i = 0; i < FT_SETTING_COUNT; i++) {
        if (strlen(known[i].name) == bytes && memcmp(known[i].name, name, bytes) == 0) {
            return i;
        }
    }
    return -1;
}

void ft_doctor_read_settings(struct ft_doctor *doctor, char *const *environment)
{
    doctor->environment = environment;
    for (; *environment; environment++) {
        size_t bytes = strcspn(*environment, "=");
        int which = (*environment)[bytes] == '=' ? find_known(*environment, bytes) : -1;
        if (which >= 0 && !doctor->values[which]) { /* of a name that is there twice, the first counts */
            doctor->values[which] = *environment + bytes + 1;
            doctor->has_settings = true;
        }
    }
}

/* The known name that is most like it; -1: none is much like it. */
static int find_nearest(const char *name)
{
    unsigned best = DISTANCE_MAX + 1;
    int nearest = -1;
    for (int i = 0; i < FT_SETTING_COUNT; i++) {
        unsigned distance = ft_doctor_distance(name, known[i].name, DISTANCE_MAX);
        if (distance < best) {
            best = distance;
            nearest = i;
        }
    }
    return nearest;
}

void ft_doctor_names(struct ft_doctor *doctor)
{
    size_t before = doctor->finding_count;
    for (char *const *at = doctor->environment; *at; at++) {
        char name[NAME_BYTES_MAX + 1];
        size_t bytes = strcspn(*at, "=");
        snprintf(name, sizeof(name), "%.*s", (int)(bytes < NAME_BYTES_MAX ? bytes : NAME_BYTES_MAX), *at);
        if (find_known(*at, bytes) >= 0) {
            continue;
        }
        int nearest = find_nearest(name);
        if (nearest >= 0) {
            char *advice = ft_cli_format("is %s meant?", known[nearest].name);
            ft_doctor_problem(doctor, NULL, advice, "%s is no variable of Flowtap's and has no effect", name);
            free(advice);
        } else if (strncmp(name, "FLOWTAP", 7) == 0) {
            ft_doctor_note(doctor, NULL, "flowtap(1) lists those that there are",
                           "%s is no variable of Flowtap's and has no effect", name);
        }
    }
    if (doctor->finding_count == before) {
        ft_doctor_ok(doctor, NULL, "no variable is misspelled");
    }
}

static void check_on(struct ft_doctor *doctor, const char *value)
{
    if (ft_setting_use_of_on(value) == FT_SETTING_IGNORED) {
        doctor->settings_ignored++;
        ft_doctor_problem(doctor, NULL, "set FLOWTAP=1", "FLOWTAP='%s' is neither 0 nor 1: nothing is recorded",
                          ft_doctor_quote(value, strlen(value)));
    }
}

static void check_socket(struct ft_doctor *doctor, const char *value)
{
    if (ft_setting_use_of_socket(value) == FT_SETTING_IGNORED) {
        size_t bytes = strlen(value);
        doctor->settings_ignored++;
        ft_doctor_problem(
            doctor, NULL, "give the absolute path of the daemon's socket, of less than 100 bytes, or unset it",
            "FLOWTAP_SOCKET='%s' is ignored: %s; " FT_SOCKET_DEFAULT " is taken instead", ft_doctor_quote(value, bytes),
            bytes == 0        ? "it is empty"
            : value[0] != '/' ? "it is no absolute path"
                              : "it is too long");
    }
}

static void check_mode(struct ft_doctor *doctor, const char *value)
{
    enum ft_setting_use use = ft_setting_use_of_mode(value);
    if (use == FT_SETTING_OFF) {
        ft_doctor_problem(doctor, NULL, "unset it",
                          "FLOWTAP_MODE=off: nothing is recorded, with `flowtap run` neither");
    } else if (use == FT_SETTING_IGNORED) {
        doctor->settings_ignored++;
        ft_doctor_problem(doctor, NULL, "set it to trace, profile or off, or unset it",
                          "FLOWTAP_MODE='%s' is ignored: it is none of trace, profile, off",
                          ft_doctor_quote(value, strlen(value)));
    }
}

static void check_tags(struct ft_doctor *doctor, const char *value)
{
    const char *list = value, *end = value + strlen(value), *tag, *first = NULL;
    size_t bytes, first_bytes = 0, key_bytes, taken = 0, words = 0;
    unsigned ignored = 0;
    while (ft_setting_next(&list, end, ',', &tag, &bytes)) {
        if (bytes == 0) {
            continue;
        }
        words++;
        if (ft_setting_use_of_tag(tag, bytes, taken, &key_bytes) == FT_SETTING_USED) {
            taken++;
        } else if (ignored++ == 0) {
            first = tag;
            first_bytes = bytes;
        }
    }
    doctor->settings_ignored += ignored;
    if (ignored > 0) {
        ft_doctor_problem(doctor, NULL, "write key=value,key=value",
                          "FLOWTAP_TAGS: %u of %zu words ignored, the first is '%s': %s", ignored, words,
                          ft_doctor_quote(first, first_bytes),
                          taken == FT_SETTING_TAGS_MAX ? "there are more than 64" : "a tag is key=value");
    } else if (words == 0) {
        ft_doctor_note(doctor, NULL, "unset it, or write key=value,key=value", "FLOWTAP_TAGS holds no tag");
    }
}

static void check_job(struct ft_doctor *doctor, const char *value)
{
    size_t bytes = strlen(value);
    if (bytes > FT_SETTING_JOB_BYTES_MAX) {
        ft_doctor_note(doctor, NULL, "shorten it", "FLOWTAP_JOB='%s' is cut after %d of its %zu bytes",
                       ft_doctor_quote(value, bytes), FT_SETTING_JOB_BYTES_MAX, bytes);
    }
}

static void check_debug(struct ft_doctor *doctor, const char *value)
{
    enum ft_setting_use use = ft_setting_use_of_debug(value);
    if (use == FT_SETTING_IGNORED) {
        doctor->settings_ignored++;
        ft_doctor_problem(doctor, NULL, "set it to 1 or unset it",
                          "FLOWTAP_DEBUG='%s' is ignored: it is neither 0 nor 1",
                          ft_doctor_quote(value, strlen(value)));
    } else if (use == FT_SETTING_USED) {
        ft_doctor_note(doctor, NULL, "unset it when done",
                       "FLOWTAP_DEBUG is set: programs that do not attach say so on their stderr");
    }
}

/* What a process tells of itself has a maximum: a variable that does not fit is left out as if it were not set. */
static void check_room(struct ft_doctor *doctor)
{
    size_t used = 0;
    for (char *const *at = doctor->environment; *at; at++) {
        size_t bytes = strlen(*at) + 1;
        if (!ft_setting_is_claim(*at)) {
            continue;
        }
        if (bytes <= FT_SETTING_CLAIMS_BYTES_MAX - used) {
            used += bytes;
        } else {
            ft_doctor_problem(
                doctor, NULL, "shorten it",
                "%s is not told to the daemon: what a process tells of its environment has room for %d bytes",
                ft_doctor_quote(*at, strcspn(*at, "=")), FT_SETTING_CLAIMS_BYTES_MAX);
        }
    }
}

/* Include and exclude have a check of their own. */
void ft_doctor_settings(struct ft_doctor *doctor)
{
    static const struct {
        enum ft_setting which;
        void (*check)(struct ft_doctor *doctor, const char *value);
    } rows[] = {
        {FT_SETTING_FLOWTAP, check_on},
        {FT_SETTING_FLOWTAP_SOCKET, check_socket},
        {FT_SETTING_FLOWTAP_MODE, check_mode},
        {FT_SETTING_FLOWTAP_TAGS, check_tags},
        {FT_SETTING_FLOWTAP_JOB, check_job},
        {FT_SETTING_FLOWTAP_DEBUG, check_debug},
        {FT_SETTING_FLOWTAP_FUNCTIONS, ft_doctor_functions},
        {FT_SETTING_FLOWTAP_LEVELS, ft_doctor_levels},
    };
    size_t before = doctor->finding_count;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (doctor->values[rows[i].which]) {
            rows[i].check(doctor, doctor->values[rows[i].which]);
        }
    }
    check_room(doctor);
    if (doctor->finding_count == before) {
        ft_doctor_ok(doctor, NULL, "every value can be used");
    }
}
