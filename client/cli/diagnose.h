// SPDX-License-Identifier: MIT
/* Findings of `flowtap diagnose`. */
#ifndef FT_CLI_DIAGNOSE_H
#define FT_CLI_DIAGNOSE_H

#include <stdio.h>

#include "client/cli/analysis_diagnose.h"
#include "client/cli/options.h"

enum { FT_DIAGNOSE_FILES_MAX = 5 };
enum ft_diagnose_severity { FT_DIAGNOSE_LOW, FT_DIAGNOSE_MEDIUM, FT_DIAGNOSE_HIGH };

struct ft_diagnose_file {
    uint32_t entry;
    uint64_t count, bytes, time_ns; /* of what was found in it; count 0: told by bytes */
};

struct ft_diagnose_finding {
    const struct ft_diagnose_check *check;
    enum ft_diagnose_severity severity;
    char *figure;  /* one sentence */
    char *command; /* how to look closer */
    uint64_t saving_ns;
    struct ft_diagnose_file files[FT_DIAGNOSE_FILES_MAX]; /* those that matter most */
    size_t file_count;
};

/* One check: whether the trace has it, and what it is. */
struct ft_diagnose_check {
    const char *name, *title, *advice;
    const char *saving_of; /* which time that is */
    /* Fills figure, saving_ns and files; false where it is not there. */
    bool (*find)(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding);
    /* Options of the command, without the paths; a new string. */
    char *(*look)(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding);
};
extern const struct ft_diagnose_check ft_diagnose_checks[];
extern const size_t ft_diagnose_check_count;

/* All that was found, the largest saving first; a new array. `paths`: what commands name. */
struct ft_diagnose_finding *ft_diagnose_find(const struct ft_diagnose *diagnose, const struct ft_strings *paths,
                                             size_t *count);
void ft_diagnose_free(struct ft_diagnose_finding *findings, size_t count);

void ft_diagnose_print_text(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *findings,
                            size_t count, const char *title, FILE *out);
void ft_diagnose_print_json(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *findings,
                            size_t count, bool is_partial, FILE *out);

#endif
