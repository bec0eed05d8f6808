// SPDX-License-Identifier: MIT
/* Parts of the reports' output. */
#include <inttypes.h>
#include <string.h>

#include "client/cli/report.h"
#include "client/cli/units.h"

void ft_report_json_bytes(struct ft_json *json, const char *key, struct ft_bytes bytes)
{
    if (bytes.len == 0) {
        ft_json_key(json, key);
        ft_json_null(json);
    } else {
        ft_json_member_text(json, key, bytes.data, bytes.len);
    }
}

static bool is_same_key(struct ft_tag a, struct ft_tag b)
{
    return a.key.len == b.key.len && (a.key.len == 0 || memcmp(a.key.data, b.key.data, a.key.len) == 0);
}

void ft_report_json_tags(struct ft_json *json, const struct ft_tag *tags, size_t count)
{
    ft_json_begin_object(json);
    for (size_t i = 0; i < count; i++) {
        bool is_last = true;
        for (size_t k = i + 1; k < count && is_last; k++) {
            is_last = !is_same_key(tags[i], tags[k]);
        }
        if (is_last) {
            ft_json_key_bytes(json, tags[i].key.data, tags[i].key.len);
            ft_json_text(json, tags[i].value.data, tags[i].value.len);
        }
    }
    ft_json_end_object(json);
}

void ft_report_json_problem(struct ft_json *json, const struct ft_trace_problem *problem)
{
    ft_json_begin_object(json);
    ft_json_member_string(json, "what", ft_problem_text(problem->kind));
    ft_json_member_string(json, "severity", ft_problem_severity(problem->kind));
    ft_json_member_uint(json, "offset", problem->offset);
    ft_json_member_uint(json, "bytes", problem->length);
    ft_json_member_uint(json, "count", problem->count);
    ft_json_end_object(json);
}

void ft_report_print_problem(const struct ft_screen *screen, const struct ft_trace_problem *problem)
{
    struct ft_unit_text count;
    ft_screen_print(screen, ft_problem_is_partial(problem->kind) ? FT_STYLE_WARN : FT_STYLE_NONE, "  %s: %s",
                    ft_problem_severity(problem->kind), ft_problem_text(problem->kind));
    fprintf(screen->out, ", at byte %" PRIu64, problem->offset);
    if (problem->length) {
        fprintf(screen->out, ", %s bytes", ft_units_count(&count, problem->length));
    }
    if (problem->count > 1) {
        fprintf(screen->out, ", %s of them", ft_units_count(&count, problem->count));
    }
    fputc('\n', screen->out);
}

void ft_report_json_gaps(struct ft_json *json, const struct ft_job *job)
{
    ft_json_key(json, "gaps");
    ft_json_begin_array(json);
    for (size_t i = 0; i < job->gap_count; i++) {
        const struct ft_job_gap *gap = &job->gaps[i];
        ft_json_begin_object(json);
        ft_json_member_string(json, "kind", ft_gap_name(gap->kind));
        ft_report_json_bytes(json, "host", gap->host);
        ft_json_key(json, "pid");
        gap->pid ? ft_json_uint(json, gap->pid) : ft_json_null(json);
        ft_report_json_bytes(json, "exe", gap->exe);
        ft_report_json_bytes(json, "reason", gap->reason);
        ft_json_member_uint(json, "count", gap->count);
        ft_json_end_object(json);
    }
    ft_json_end_array(json);
}

void ft_report_json_who(struct ft_json *json, const struct ft_trace_set *set, uint32_t process)
{
    const struct ft_trace_set_process *known = ft_trace_set_process(set, process);
    ft_report_json_bytes(json, "host", ft_trace_set_host_name(set, known->host));
    ft_json_member_uint(json, "pid", known->record->pid);
    ft_report_json_bytes(json, "exe", known->record->exe);
    ft_json_key(json, "rank");
    known->record->job.rank >= 0 ? ft_json_int(json, known->record->job.rank) : ft_json_null(json);
}

size_t ft_report_host_column(struct ft_column *columns, size_t count, const struct ft_trace_set *set)
{
    if (ft_trace_set_host_count(set) > 1) {
        return count;
    }
    columns[count - 2] = columns[count - 1];
    return count - 1;
}

void ft_report_add_host(struct ft_table *table, const struct ft_trace_set *set, uint32_t reader)
{
    if (ft_trace_set_host_count(set) > 1) {
        struct ft_bytes host = ft_trace_set_host_name(set, ft_trace_set_reader_host(set, reader));
        ft_table_add_bytes(table, host.len ? host.data : "-", host.len ? host.len : 1);
    }
}
