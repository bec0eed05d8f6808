// SPDX-License-Identifier: MIT
#include "client/cli/analysis_accounts.h"

#include <stdlib.h>

#include "client/cli/analysis_job.h"
#include "client/cli/cli.h"

void ft_accounts_init(struct ft_accounts *accounts, const struct ft_trace_set *set)
{
    *accounts = (struct ft_accounts){
        .set = set,
        .stored = ft_cli_alloc(ft_trace_set_process_count(set) * sizeof(uint64_t)),
        .has_all = true,
    };
}

void ft_accounts_fini(struct ft_accounts *accounts)
{
    free(accounts->stored);
}

/* Of a row that is a sum: events that are there in this form alone. Capped ones are among the dropped. */
static uint64_t events_of(const struct ft_rows *rows, const struct ft_run *run)
{
    uint64_t events = 0;
    for (uint32_t i = run->first; i < run->first + run->count; i++) {
        events += rows->flags[i] & FT_EVENT_F_CAPPED ? 0 : rows->arg[i];
    }
    return events;
}

void ft_accounts_add(struct ft_accounts *accounts, struct ft_trace_decoder *decoder, size_t r,
                     const struct ft_trace_reader *reader, size_t block)
{
    bool are_sums = block & FT_TRACE_PROFILE;
    struct ft_trace_block_head head;
    struct ft_rows rows;
    int status = are_sums ? ft_trace_decoder_rows(decoder, reader, block, FT_COL_ARG | FT_COL_FLAGS, &rows)
                          : ft_trace_decoder_head(decoder, reader, block, &head);
    if (!ft_cli_decoded(status)) {
        accounts->has_all = false;
        return;
    }
    const struct ft_run *runs = are_sums ? rows.runs : head.runs;
    size_t run_count = are_sums ? rows.run_count : head.run_count;
    for (size_t i = 0; i < run_count; i++) {
        uint32_t process = ft_trace_set_process_of_thread(accounts->set, r, runs[i].thread);
        uint64_t *sum = process != FT_TRACE_SET_NONE ? &accounts->stored[process] : &accounts->ownerless;
        *sum += are_sums ? events_of(&rows, &runs[i]) : runs[i].count;
    }
}

bool ft_accounts_are_whole(const struct ft_accounts *accounts)
{
    bool are_whole = accounts->has_all && !ft_trace_set_is_partial(accounts->set);
    for (size_t r = 0; r < ft_trace_set_reader_count(accounts->set); r++) {
        are_whole &= ft_trace_set_is_ended(accounts->set, r);
    }
    return are_whole;
}

uint64_t ft_accounts_missing(const struct ft_accounts *accounts)
{
    uint64_t missing = 0;
    for (uint32_t p = 0; p < ft_trace_set_process_count(accounts->set); p++) {
        missing += ft_job_missing(accounts->set, p, accounts->stored[p]);
    }
    return missing > accounts->ownerless ? missing - accounts->ownerless : 0;
}

bool ft_accounts_balance(const struct ft_accounts *accounts, uint32_t process)
{
    const struct ft_trace_process *record = ft_trace_set_process(accounts->set, process)->record;
    return record->emitted == accounts->stored[process] + ft_job_dropped(record);
}
