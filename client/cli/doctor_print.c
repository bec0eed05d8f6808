// SPDX-License-Identifier: MIT
/* What the checks found, as lines or as a JSON document. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/doctor.h"
#include "client/cli/json.h"
#include "client/cli/table.h"
#include "client/cli/text.h"

enum { QUOTE_BYTES_MAX = 60, QUOTES = 4 };

static const char *const severity_names[] = {"ok", "note", "problem"};

void ft_doctor_tell(struct ft_doctor *doctor, enum ft_severity severity, const char *path, const char *advice,
                    const char *what, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, what);
    int length = vasprintf(&text, what, arguments);
    va_end(arguments);
    text = length < 0 ? NULL : text;
    const char *raw = text ? text : what;
    doctor->findings = ft_cli_realloc(doctor->findings, doctor->finding_count + 1, sizeof(*doctor->findings));
    doctor->findings[doctor->finding_count++] = (struct ft_finding){
        .check = doctor->check,
        .severity = severity,
        .what = ft_text_escape(raw, strlen(raw), FT_TEXT_SHOW),
        .path = path ? ft_cli_strdup(path) : NULL,
        .advice = advice ? ft_text_escape(advice, strlen(advice), FT_TEXT_SHOW) : NULL,
        .ignored = doctor->settings_ignored - doctor->settings_told,
    };
    doctor->settings_told = doctor->settings_ignored;
    free(text);
    doctor->problem_count += severity == FT_SEVERITY_PROBLEM;
    doctor->note_count += severity == FT_SEVERITY_NOTE;
}

void ft_doctor_release_findings(struct ft_doctor *doctor)
{
    for (size_t i = 0; i < doctor->finding_count; i++) {
        free(doctor->findings[i].what);
        free(doctor->findings[i].path);
        free(doctor->findings[i].advice);
    }
    free(doctor->findings);
    doctor->findings = NULL;
    doctor->finding_count = 0;
}

const char *ft_doctor_quote(const char *value, size_t bytes)
{
    static char quotes[QUOTES][QUOTE_BYTES_MAX + 8];
    static unsigned next;
    char *quote = quotes[next++ % QUOTES];
    bool is_long = bytes > QUOTE_BYTES_MAX;
    snprintf(quote, sizeof(quotes[0]), "%.*s%s", is_long ? QUOTE_BYTES_MAX : (int)bytes, value, is_long ? "..." : "");
    return quote;
}

static void print_line(const struct ft_screen *screen, const struct ft_finding *finding)
{
    static const enum ft_style styles[] = {FT_STYLE_DIM, FT_STYLE_NONE, FT_STYLE_WARN};
    ft_screen_print(screen, styles[finding->severity], "%s", severity_names[finding->severity]);
    ft_screen_print_names(screen, FT_STYLE_NONE, ": %s: %s%s%s", finding->check, finding->what,
                          finding->advice ? "; " : "", finding->advice ? finding->advice : "");
    fputc('\n', screen->out);
}

/* Problems first; where there is none, the last check's word says that all is well. */
void ft_doctor_print_text(const struct ft_doctor *doctor)
{
    struct ft_screen screen;
    ft_screen_init(&screen, stdout);
    for (int severity = FT_SEVERITY_PROBLEM; severity >= FT_SEVERITY_OK; severity--) {
        for (size_t i = 0; i < doctor->finding_count; i++) {
            bool is_last = i + 1 == doctor->finding_count && doctor->problem_count == 0;
            if ((int)doctor->findings[i].severity == severity &&
                (severity > FT_SEVERITY_OK || doctor->is_verbose || is_last)) {
                print_line(&screen, &doctor->findings[i]);
            }
        }
    }
}

static void put_finding(struct ft_json *json, const struct ft_finding *finding)
{
    ft_json_begin_object(json);
    ft_json_member_string(json, "name", finding->check);
    ft_json_member_bool(json, "ok", finding->severity != FT_SEVERITY_PROBLEM);
    ft_json_member_string(json, "severity", severity_names[finding->severity]);
    ft_json_member_string(json, "what", finding->what);
    if (finding->path) {
        ft_json_member_text(json, "path", finding->path, strlen(finding->path));
    }
    if (finding->advice) {
        ft_json_member_string(json, "advice", finding->advice);
    } else {
        ft_json_key(json, "advice");
        ft_json_null(json);
    }
    ft_json_end_object(json);
}

void ft_doctor_print_json(const struct ft_doctor *doctor)
{
    struct ft_json json;
    ft_json_init(&json, stdout, true);
    ft_json_begin_object(&json);
    ft_json_member_bool(&json, "ok", doctor->problem_count == 0);
    ft_json_member_uint(&json, "problems", doctor->problem_count);
    ft_json_member_uint(&json, "notes", doctor->note_count);
    ft_json_member_uint(&json, "settings_ignored", doctor->settings_ignored);
    ft_json_key(&json, "checks");
    ft_json_begin_array(&json);
    for (size_t i = 0; i < doctor->finding_count; i++) {
        put_finding(&json, &doctor->findings[i]);
    }
    ft_json_end_array(&json);
    ft_json_end_object(&json);
    ft_json_end_line(&json);
    ft_json_flush(&json);
}
