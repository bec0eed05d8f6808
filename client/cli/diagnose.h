// SPDX-License-Identifier: MIT
/* Findings of `flowtap diagnose`. */
#ifndef FT_CLI_DIAGNOSE_H
#define FT_CLI_DIAGNOSE_H

#include <stdio.h>

#include "client/cli/analysis_diagnose.h"
#include "client/cli/analysis_state.h"
#include "client/cli/options.h"

enum { FT_DIAGNOSE_FILES_MAX = 5 };
enum ft_diagnose_severity { FT_DIAGNOSE_LOW, FT_DIAGNOSE_MEDIUM, FT_DIAGNOSE_HIGH };

struct ft_diagnose_file {
    uint32_t entry;
    uint64_t count, bytes, time_ns; /* of what was found in it; count 0: told by bytes */
};

struct ft_diagnose_process_row {
    uint32_t process; /* of the set */
    uint64_t time_ns, bytes;
    uint64_t median_ns; /* of its program's processes */
};

struct ft_diagnose_finding {
    const struct ft_diagnose_check *check;
    enum ft_diagnose_severity severity;
    char *figure;  /* one sentence */
    char *command; /* how to look closer */
    uint64_t saving_ns;
    struct ft_diagnose_file files[FT_DIAGNOSE_FILES_MAX]; /* those that matter most */
    size_t file_count;
    struct ft_diagnose_process_row processes[FT_DIAGNOSE_FILES_MAX];
    size_t process_count;
};

/* One check: whether the trace has it, and what it is. */
struct ft_diagnose_check {
    const char *name, *title, *advice;
    bool saves_wall; /* the saving is of the wall time; else summed over all threads */
    /* Fills figure, saving_ns and files; false where it is not there. */
    bool (*find)(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding);
    /* Options of the command, without the paths; a new string. */
    char *(*look)(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding);
};
extern const struct ft_diagnose_check ft_diagnose_checks[];
extern const size_t ft_diagnose_check_count;

/* The checks, by what they look at: how files are asked (diagnose_requests.c), what the job's parts do at the same time
 * (diagnose_together.c). */
#define FT_DIAGNOSE_CHECK(name)                                                                            \
    bool ft_diagnose_find_##name(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding); \
    char *ft_diagnose_look_##name(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
FT_DIAGNOSE_CHECK(small);
FT_DIAGNOSE_CHECK(rereads);
FT_DIAGNOSE_CHECK(lookups);
FT_DIAGNOSE_CHECK(syncs);
FT_DIAGNOSE_CHECK(odd);
FT_DIAGNOSE_CHECK(read_back);
FT_DIAGNOSE_CHECK(random);
FT_DIAGNOSE_CHECK(unbuffered);
FT_DIAGNOSE_CHECK(serial);
FT_DIAGNOSE_CHECK(stragglers);
FT_DIAGNOSE_CHECK(reader);
#undef FT_DIAGNOSE_CHECK

/* For checks. */

/* Whether `part` is so many percent of `whole`. */
bool ft_diagnose_is_share(uint64_t part, uint64_t whole, enum ft_diagnose_limit percent);
/* What of the time is saved where `needed` of `done` calls would do. */
uint64_t ft_diagnose_spared(uint64_t time_ns, uint64_t needed, uint64_t done);
/* Keeps the files that matter most, in order. */
void ft_diagnose_add_file(struct ft_diagnose_finding *finding, struct ft_diagnose_file file);
/* A word of a shell's command line; a new string. */
char *ft_diagnose_shell_word(const char *text);
/* `command --where` FIELD=TEXT and a condition more; a new string. */
char *ft_diagnose_look_at(const char *command, const char *field, struct ft_bytes text, const char *condition);
/* Events of the finding's first file, with a condition more. */
char *ft_diagnose_look_at_file(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding,
                               const char *condition);

/* All that was found, the largest saving first; a new array. `paths`: what commands name. */
struct ft_diagnose_finding *ft_diagnose_find(const struct ft_diagnose *diagnose, const struct ft_strings *paths,
                                             size_t *count);
void ft_diagnose_free(struct ft_diagnose_finding *findings, size_t count);

void ft_diagnose_print_text(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *findings,
                            size_t count, const char *title, struct ft_state state, FILE *out);
void ft_diagnose_print_json(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *findings,
                            size_t count, struct ft_state state, FILE *out);

#endif
