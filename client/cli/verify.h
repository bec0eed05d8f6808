// SPDX-License-Identifier: MIT
/*
 * What `flowtap verify` found, and where it goes.
 */
#ifndef FT_CLI_VERIFY_H
#define FT_CLI_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/trace_reader.h"

struct ft_accounts;
struct ft_json;
struct ft_screen;

/* Where findings go: exactly one of the two is used. */
struct ft_verify_output {
    struct ft_json *json;
    const struct ft_screen *screen;
    bool has_damage;
    bool is_partial; /* not all could be looked at: the memory limit */
    uint64_t found;  /* problems of a file */
    size_t listed;   /* of them, at most FT_TRACE_PROBLEMS_MAX */
    uint64_t left_out[FT_PROBLEM_END];
};

/* Of a list at most so many are told; how many there are is counted. */
bool ft_verify_may_list(uint64_t *found);
/* Behind such a list: what is not in it. In JSON the number of all. */
void ft_verify_tell_found(const struct ft_verify_output *output, const char *key, uint64_t found, const char *one,
                          const char *many);

/* The processes whose events do not add up, and what is missing. */
void ft_verify_tell_accounts(struct ft_verify_output *output, const struct ft_accounts *accounts);

#endif
