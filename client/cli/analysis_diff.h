// SPDX-License-Identifier: MIT
/*
 * Two runs side by side: calls, files (by path), programs. Rows that one of them does not have are zeros there.
 *
 * A change of time has two parts: what more or fewer calls explain at the first run's time a call, and what the time a call
 * explains for the second run's calls. The larger one says what happened.
 */
#ifndef FT_CLI_ANALYSIS_DIFF_H
#define FT_CLI_ANALYSIS_DIFF_H

#include "client/cli/analysis_calls.h"
#include "client/cli/analysis_state.h"
#include "client/cli/analysis_timeline.h"
#include "client/cli/files.h"
#include "client/cli/map.h"

/* One run, read. */
struct ft_diff_run {
    struct ft_trace_set *set;
    struct ft_calls calls;
    struct ft_files files;
    struct ft_timeline timeline; /* of one bin: the unions */
    struct ft_process_sum *processes;
    uint64_t *events; /* by process, dropped ones included */
    struct ft_state state;
};

/* What happened to a row (enum ft_diff_change). */
#define FT_DIFF_CHANGES(X)  \
    X(SAME, "same")         \
    X(APPEARED, "appeared") \
    X(VANISHED, "vanished") \
    X(GREW, "grew")         \
    X(SHRANK, "shrank")     \
    X(SLOWED, "slowed")     \
    X(SPED_UP, "sped up")
#define FT_DIFF_ENUM(id, name) FT_DIFF_##id,
enum ft_diff_change { FT_DIFF_CHANGES(FT_DIFF_ENUM) FT_DIFF_CHANGE_COUNT };
#undef FT_DIFF_ENUM
const char *ft_diff_change_name(enum ft_diff_change change);

struct ft_diff_row {
    struct ft_bytes name, category; /* category: of calls and spans */
    struct ft_sum of[2];            /* count: calls, events */
    uint64_t processes[2];          /* of programs */
    enum ft_diff_change change;
    int64_t by_count_ns, by_speed_ns; /* their sum is the change of time */
};

struct ft_diff_list {
    struct ft_diff_row *rows; /* largest change of time first */
    size_t count, space;
    struct ft_map index;
};

struct ft_diff {
    struct ft_diff_run runs[2];
    struct ft_diff_list calls, spans, files, programs;
};

/* Takes the sets over. */
void ft_diff_read(struct ft_diff *diff, struct ft_trace_set *a, struct ft_trace_set *b);
void ft_diff_fini(struct ft_diff *diff);
/* Fills change and its parts from the sums. */
void ft_diff_judge(struct ft_diff_row *row);

#endif
