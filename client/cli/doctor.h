// SPDX-License-Identifier: MIT
/*
 * flowtap doctor: checks of a set-up, of a command, of a trace.
 *
 * A check is one function and one row of the table in cmd_doctor.c. It tells what it finds: at least one line, `ok`
 * where all is well; a problem is what makes a trace empty or incomplete, a note what is good to know. What a check
 * learns and a later one needs is in struct ft_doctor. Nothing is printed before all checks have run.
 */
#ifndef FT_CLI_DOCTOR_H
#define FT_CLI_DOCTOR_H

#include "client/cli/elf.h"
#include "client/cli/options.h"
#include "client/cli/run_paths.h"
#include "proto/settings.h"

enum ft_severity { FT_SEVERITY_OK, FT_SEVERITY_NOTE, FT_SEVERITY_PROBLEM };

struct ft_finding {
    const char *check;
    enum ft_severity severity;
    char *what;
    char *path;       /* what it is about; NULL: no file */
    char *advice;     /* NULL: nothing to do */
    unsigned ignored; /* values that it names of which the recorder counts that it ignores them */
};

struct ft_doctor {
    /* what was asked */
    const struct ft_strings *command; /* count 0: none */
    const char *trace, *output;       /* NULL: none */
    bool is_verbose;
    /* what came of it */
    struct ft_finding *findings;
    size_t finding_count, problem_count, note_count;
    const char *check; /* that runs now */
    /* what checks learned */
    struct ft_run_paths paths;
    bool lacks_proc;                      /* so that nothing finds where it lies itself */
    bool lacks_files;                     /* so few that nothing can be tried */
    bool has_library, has_daemon;         /* of flowtap's own installation, and good */
    char *const *environment;             /* that is looked at; NULL-terminated */
    const char *cwd;                      /* relative patterns are taken from it; NULL: unknown */
    const char *values[FT_SETTING_COUNT]; /* of the FLOWTAP variables in it; NULL: not set */
    bool has_settings;                    /* any of them */
    bool is_preloaded;                    /* LD_PRELOAD names the recorder */
    bool is_of_site;                      /* /etc/ld.so.preload does */
    bool is_loaded;                       /* it is loaded here, as it would be in any program started from here */
    unsigned settings_ignored;            /* as the recorder counts them */
    unsigned settings_told;               /* of these: in findings */
    bool has_service;                     /* a daemon answers on the socket */
    void *status;                         /* Flowtap__Status of it; NULL: not told */
    void *policy;                         /* Flowtap__Policy of that daemon; NULL: none */
};

/* Text in `what` and `advice` may hold any bytes: it is kept as one line of UTF-8. */
void ft_doctor_tell(struct ft_doctor *doctor, enum ft_severity severity, const char *path, const char *advice,
                    const char *what, ...) __attribute__((format(printf, 5, 6)));
#define ft_doctor_ok(doctor, path, ...) ft_doctor_tell(doctor, FT_SEVERITY_OK, path, NULL, __VA_ARGS__)
#define ft_doctor_note(doctor, path, advice, ...) ft_doctor_tell(doctor, FT_SEVERITY_NOTE, path, advice, __VA_ARGS__)
#define ft_doctor_problem(doctor, path, advice, ...) \
    ft_doctor_tell(doctor, FT_SEVERITY_PROBLEM, path, advice, __VA_ARGS__)

void ft_doctor_print_text(const struct ft_doctor *doctor);
void ft_doctor_print_json(const struct ft_doctor *doctor);

/* A value as it is quoted: long ones are cut. Static storage, for a few at a time. */
const char *ft_doctor_quote(const char *value, size_t bytes);

/* The checks. */
typedef void ft_doctor_check(struct ft_doctor *doctor);
ft_doctor_check ft_doctor_kernel, ft_doctor_sandbox, ft_doctor_memory, ft_doctor_limits, ft_doctor_clock;
ft_doctor_check ft_doctor_daemon, ft_doctor_library, ft_doctor_preload;
ft_doctor_check ft_doctor_settings, ft_doctor_names, ft_doctor_environment, ft_doctor_filters;
ft_doctor_check ft_doctor_socket, ft_doctor_policy, ft_doctor_attached;
ft_doctor_check ft_doctor_output, ft_doctor_work, ft_doctor_spool;
ft_doctor_check ft_doctor_command, ft_doctor_try, ft_doctor_trace;

/* doctor_functions.c. FLOWTAP_FUNCTIONS, FLOWTAP_LEVELS. */
void ft_doctor_functions(struct ft_doctor *doctor, const char *value);
void ft_doctor_levels(struct ft_doctor *doctor, const char *value);
/* What a command says of them, and of its own functions (-finstrument-functions). */
void ft_doctor_command_functions(struct ft_doctor *doctor, const struct ft_elf *elf);
/* Rules of `value` that none of the names of spans fits. */
struct ft_calls;
void ft_doctor_trace_functions(struct ft_doctor *doctor, const char *value, const struct ft_calls *calls);

/* Takes the FLOWTAP variables from a list of NAME=VALUE, which must live on. */
void ft_doctor_read_settings(struct ft_doctor *doctor, char *const *environment);
void ft_doctor_release_findings(struct ft_doctor *doctor);

/* Whether every path that `inner` matches is matched by `outer`. False where that is not certain. */
bool ft_doctor_glob_covers(const char *outer, const char *inner);
/* How many changes of a byte make one name of the other, but no more than `most` are counted. */
unsigned ft_doctor_distance(const char *a, const char *b, unsigned most);

/*
 * Runs a program with no input and reads what it prints (stdout and stderr together) until it ends, at most so long.
 * Its wait status, or -errno.
 */
int ft_doctor_run(char *const *argv, char *const *environment, char *text, size_t text_bytes, int deadline_ms);

#endif
