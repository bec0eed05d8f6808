// SPDX-License-Identifier: MIT
/* What the reporting commands share: opening traces with progress and messages, and parts of their output. */
#ifndef FT_CLI_REPORT_H
#define FT_CLI_REPORT_H

#include "client/cli/analysis_job.h"
#include "client/cli/analysis_state.h"
#include "client/cli/json.h"
#include "client/cli/options.h"
#include "client/cli/table.h"
#include "client/trace/call_name.h"
#include "proto/trace_set.h"

/*
 * Opens what the operands name. FT_STATUS_DONE, or FT_STATUS_FAILED after one line on stderr. Where something is
 * missing or damaged, one line of warning says so and the rest is read. Release with ft_trace_set_close().
 */
int ft_report_open(const struct ft_strings *operands, struct ft_trace_set **out);
/* The same; which files are one is not found out. */
int ft_report_open_without_files(const struct ft_strings *operands, struct ft_trace_set **out);
/* The same without that warning, and of records the numbers only (trace_reader.h), in at most so much memory. */
int ft_report_open_numbers(const struct ft_strings *operands, size_t memory_max, struct ft_trace_set **out);
/* ft_report_open() in two, for who reads one set after another: whether each can be read is known before any is. */
int ft_report_open_first(const struct ft_strings *operands, struct ft_trace_set **out);
void ft_report_open_rest(struct ft_trace_set *set);

/*
 * A new string such as "run/ (2 files, 1 host)": what a report is about, for its first line. It names the operands, or
 * `name` where that is not NULL.
 */
char *ft_report_title(const struct ft_strings *operands, const char *name, const struct ft_trace_set *set);

/* Why a trace holds no event, for the sentence "0 events, because ...". A new string. */
char *ft_report_why_empty(const struct ft_trace_set *set);
/* That sentence as a line; where there are events, but none for this report, what it says `otherwise`. */
void ft_report_print_empty(const struct ft_trace_set *set, const char *otherwise, FILE *out);
/* Events that were dropped, without capped ones: of those there are sums. Nobody knows when they were, nor what they did. */
uint64_t ft_report_dropped(const struct ft_trace_set *set);
/* One line for each of the two that is not 0: what of the trace's events the report above could not count. */
void ft_report_print_left_out(const struct ft_screen *screen, uint64_t profiled, uint64_t dropped);

/* One line on stderr where so many blocks of events could not be decoded and no line has told of damage yet. */
void ft_report_warn_of_blocks(const struct ft_trace_set *set, uint64_t bad_blocks);
/* The members `unclosed` and `partial`. */
void ft_report_json_state(struct ft_json *json, struct ft_state state);
/* The members `dropped` and `gap_count`, for reports that do not name each gap. */
void ft_report_json_unseen(struct ft_json *json, struct ft_state state);
/*
 * The end of every report that does not name each gap: a line for each kind of what it cannot tell of. `profiled`: events
 * that are not in it, since there are sums of them alone.
 */
void ft_report_print_unseen(const struct ft_screen *screen, struct ft_state state, uint64_t profiled);
/* A line where there are gaps. */
void ft_report_print_gap_count(const struct ft_screen *screen, size_t gap_count);
/* A line where there are files that are still open. */
void ft_report_print_unclosed(const struct ft_screen *screen, size_t unclosed);

/* The members `host`, `pid`, `exe` and `rank` of a process. */
void ft_report_json_who(struct ft_json *json, const struct ft_trace_set *set, uint32_t process);
/* A member with the bytes as text (json.h); null where there are none. */
void ft_report_json_bytes(struct ft_json *json, const char *key, struct ft_bytes bytes);
/* An object of tags; a later one of the same key wins. */
void ft_report_json_tags(struct ft_json *json, const struct ft_tag *tags, size_t count);

/* One thing that is wrong with a file, as an object or as an indented line. */
void ft_report_json_problem(struct ft_json *json, const struct ft_trace_problem *problem);
void ft_report_print_problem(const struct ft_screen *screen, const struct ft_trace_problem *problem);

/* The member `gaps`. */
void ft_report_json_gaps(struct ft_json *json, const struct ft_job *job);

/*
 * A column HOST, the last but one, where the set has several hosts: a path alone does not say which file it is. It leaves
 * the columns otherwise; gives how many there are. Then each row's cell, or none.
 */
size_t ft_report_host_column(struct ft_column *columns, size_t count, const struct ft_trace_set *set);
void ft_report_add_host(struct ft_table *table, const struct ft_trace_set *set, uint32_t reader);

#endif
