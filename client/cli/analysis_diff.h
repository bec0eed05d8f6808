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
#include "client/cli/analysis_intervals.h"
#include "client/cli/analysis_state.h"
#include "proto/intern.h"

/* What is kept of a run beside its rows. */
struct ft_diff_run {
    struct ft_calls calls;
    int64_t start_ns, end_ns;
    struct ft_sweep_totals times;
    uint64_t profiled, stored, missing;
    size_t process_count, file_count;
    struct ft_state state;
    uint64_t bad_blocks; /* that could not be decoded */
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
    struct ft_bytes name, category; /* category: of calls and spans; both are the list's, known at the end */
    struct ft_sum of[2];            /* count: calls, events */
    uint64_t processes[2];          /* of programs */
    enum ft_diff_change change;
    int64_t by_count_ns, by_speed_ns; /* their sum is the change of time */
};

struct ft_diff_list {
    struct ft_diff_row *rows; /* largest change of time first */
    size_t count, space;
    struct ft_intern names; /* of both runs; of row i with id i + 1 */
};

struct ft_diff {
    struct ft_diff_run runs[2];
    struct ft_diff_list calls, spans, files, programs;
};

void ft_diff_init(struct ft_diff *diff);
/* Reads a run, all of which is done with then: its names are copied. */
void ft_diff_add(struct ft_diff *diff, int side, const struct ft_trace_set *set);
/* When both are read: what changed, in order. */
void ft_diff_finish(struct ft_diff *diff);
void ft_diff_fini(struct ft_diff *diff);
/* Fills change and its parts from the sums. */
void ft_diff_judge(struct ft_diff_row *row);

#endif
