// SPDX-License-Identifier: MIT
//
// What a thread line is about at the point where its records were consumed: which thread writes it, which tags hold.
#ifndef FT_DAEMON_LINES_H
#define FT_DAEMON_LINES_H

#include "daemon/drain.h"

enum { FT_LINES_TAGS_MAX = 64 };

// The line of a piece, made where it is new; takes over what the chunk's head says where its first slot comes next.
// NULL where there is no memory.
struct ft_process_line *ft_lines_begin_piece(const struct ft_piece *piece);

// A line by its number, which is below the geometry's lines_max; made where it is new. NULL where there is no memory.
struct ft_process_line *ft_lines_at(struct ft_process *process, uint32_t at);

void ft_lines_set_thread(struct ft_process *process, struct ft_process_line *line, uint32_t tid, uint32_t ordinal);
void ft_lines_set_tag(struct ft_process *process, struct ft_process_line *line, uint32_t string);

// A tag of the process is set, from `ticks` on: told before the records of any thread are looked at. And: the records of
// the thread that set it are past that.
void ft_lines_set_process_tag(struct ft_process *process, uint32_t string, uint64_t ticks);
void ft_lines_pass_process_tag(struct ft_process *process, struct ft_process_line *line, uint32_t string,
                               uint64_t ticks);

// Tags of the whole process, FT_PROCESS_TAGS_MAX at most; they point to its names. How many.
size_t ft_lines_process_tags(const struct ft_process *process, struct ft_tag *tags);

// THREAD and CONTEXT ids in the drain's file, 0 where there is no memory (or, of a context, no tag).
uint32_t ft_lines_make_thread(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line);
// `start_ticks`: when the event began.
uint32_t ft_lines_find_context(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line,
                               uint64_t start_ticks);

static inline uint32_t ft_lines_thread(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line)
{
    return line->thread_part == drain->part ? line->thread : ft_lines_make_thread(drain, process, line);
}

static inline uint32_t ft_lines_context(struct ft_drain *drain, struct ft_process *process,
                                        struct ft_process_line *line, uint64_t start_ticks)
{
    bool has_tags = line->tags_count || process->tags_all.set_count;
    return has_tags ? ft_lines_find_context(drain, process, line, start_ticks) : 0;
}

#endif
