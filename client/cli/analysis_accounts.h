// SPDX-License-Identifier: MIT
/* Whether the events that each process made are those stored and those dropped: emitted = stored + dropped. */
#ifndef FT_CLI_ANALYSIS_ACCOUNTS_H
#define FT_CLI_ANALYSIS_ACCOUNTS_H

#include "proto/trace_set.h"

struct ft_accounts {
    const struct ft_trace_set *set; /* numbers_only is enough */
    uint64_t *stored;               /* by process of the set */
    uint64_t ownerless;             /* whose process is not known */
    bool has_all;                   /* every block could be read so far */
};

void ft_accounts_init(struct ft_accounts *accounts, const struct ft_trace_set *set);
void ft_accounts_fini(struct ft_accounts *accounts);
/* Adds a block (FT_TRACE_PROFILE | i, too) of file `r` of the set, which `reader` has read. */
void ft_accounts_add(struct ft_accounts *accounts, struct ft_trace_decoder *decoder, size_t r,
                     const struct ft_trace_reader *reader, size_t block);
/* Whether they can balance: all of the files are here, whole, and their ends are told. */
bool ft_accounts_are_whole(const struct ft_accounts *accounts);
/* How many events are neither here nor dropped, of processes whose file's end is told. */
uint64_t ft_accounts_missing(const struct ft_accounts *accounts);
bool ft_accounts_balance(const struct ft_accounts *accounts, uint32_t process);

#endif
