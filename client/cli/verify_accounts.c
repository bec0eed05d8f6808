// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>

#include "client/cli/analysis_accounts.h"
#include "client/cli/analysis_job.h"
#include "client/cli/json.h"
#include "client/cli/table.h"
#include "client/cli/units.h"
#include "client/cli/verify.h"
bool ft_verify_may_list(uint64_t *found)
{
    return (*found)++ < FT_TRACE_PROBLEMS_MAX;
}

void ft_verify_tell_found(const struct ft_verify_output *output, const char *key, uint64_t found, const char *one,
                          const char *many)
{
    struct ft_unit_text count;
    if (output->json) {
        ft_json_member_uint(output->json, key, found);
    } else if (found > FT_TRACE_PROBLEMS_MAX) {
        fprintf(output->screen->out, "and %s\n", ft_units_counted(&count, found - FT_TRACE_PROBLEMS_MAX, one, many));
    }
}

static void tell_account(struct ft_verify_output *output, const struct ft_trace_set_process *process, uint64_t rows)
{
    const struct ft_trace_process *record = process->record;
    uint64_t dropped = ft_job_dropped(record);
    output->has_damage = true;
    if (output->json) {
        ft_json_begin_object(output->json);
        ft_json_member_uint(output->json, "pid", record->pid);
        ft_json_member_uint(output->json, "emitted", record->emitted);
        ft_json_member_uint(output->json, "stored", rows);
        ft_json_member_uint(output->json, "dropped", dropped);
        ft_json_end_object(output->json);
    } else {
        fprintf(output->screen->out,
                "process %u: emitted %" PRIu64 ", but %" PRIu64 " events are here and %" PRIu64 " were dropped\n",
                record->pid, record->emitted, rows, dropped);
    }
}

static void tell_missing(const struct ft_verify_output *output, const struct ft_accounts *accounts, bool is_limited)
{
    uint64_t missing = ft_accounts_missing(accounts);
    struct ft_unit_text count;
    if (output->json) {
        ft_json_member_uint_if(output->json, "missing", !is_limited, missing);
    } else if (missing && !is_limited) {
        ft_screen_print(output->screen, FT_STYLE_WARN,
                        "%s missing: in what is damaged, or in files of the trace that are not here\n",
                        ft_units_counted(&count, missing, "event is", "events are"));
    }
}

void ft_verify_tell_accounts(struct ft_verify_output *output, const struct ft_accounts *accounts)
{
    bool is_limited = ft_trace_set_is_limited(accounts->set);
    if (output->json) {
        ft_json_key(output->json, "accounts");
        ft_json_begin_array(output->json);
    } else if (is_limited) {
        ft_screen_print(output->screen, FT_STYLE_WARN, "the accounts of the processes were not checked: %s\n",
                        ft_problem_text(FT_PROBLEM_LIMIT));
    }
    output->is_partial |= is_limited;
    bool are_whole = ft_accounts_are_whole(accounts) && !output->is_partial;
    uint64_t found = 0;
    for (uint32_t p = 0; are_whole && p < ft_trace_set_process_count(accounts->set); p++) {
        if (!ft_accounts_balance(accounts, p) && ft_verify_may_list(&found)) {
            tell_account(output, ft_trace_set_process(accounts->set, p), accounts->stored[p]);
        }
    }
    if (output->json) {
        ft_json_end_array(output->json);
    }
    ft_verify_tell_found(output, "accounts_found", found, "process more does not add up",
                         "processes more do not add up");
    tell_missing(output, accounts, is_limited);
}
