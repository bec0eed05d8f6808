// SPDX-License-Identifier: MIT
#include "daemon/lines.h"

#include <stdlib.h>
#include <string.h>

struct ft_process_line *ft_lines_at(struct ft_process *process, uint32_t at)
{
    if (at >= process->lines_count) {
        uint32_t count = at + 1 < 4 ? 4 : (at + 1) * 2;
        if (count > process->segment.geometry.lines_max)
            count = process->segment.geometry.lines_max;
        struct ft_process_line *lines = realloc(process->lines, count * sizeof(*lines));
        if (!lines)
            return NULL;
        memset(lines + process->lines_count, 0, (count - process->lines_count) * sizeof(*lines));
        process->lines = lines;
        process->lines_count = count;
    }
    return &process->lines[at];
}

static void give_up_tags(struct ft_names *names, struct ft_process_line *line)
{
    for (uint32_t i = 0; i < line->tags_count; i++) {
        struct ft_name *tag = ft_names_find(names, line->tags[i]);
        if (tag)
            ft_tag_set_give_up(names, tag);
    }
    line->tags_count = 0;
}

void ft_lines_set_thread(struct ft_process *process, struct ft_process_line *line, uint32_t tid, uint32_t ordinal)
{
    if (line->ordinal && line->tid == tid && line->ordinal == ordinal)
        return;
    line->tid = tid;
    line->ordinal = ordinal;
    line->thread_part = 0;
    give_up_tags(&process->names, line);
}

struct ft_process_line *ft_lines_begin_piece(const struct ft_piece *piece)
{
    struct ft_process_line *line = ft_lines_at(piece->process, piece->head.line);
    if (!line)
        return NULL;
    if (piece->to == 0 || (!line->thread_part && !line->ordinal))
        ft_lines_set_thread(piece->process, line, piece->head.tid, piece->head.ordinal);
    return line;
}

uint32_t ft_lines_make_thread(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line)
{
    struct ft_trace_thread thread = {
        .process = process->trace_id,
        .tid = line->tid,
        .ordinal = line->ordinal ? line->ordinal - 1 : 0,
    };
    int64_t id = ft_trace_writer_new_thread(drain->writer, &thread);
    if (id <= 0)
        return 0;
    line->thread = (uint32_t)id;
    line->thread_part = drain->part;
    return line->thread;
}

void ft_lines_set_tag(struct ft_process *process, struct ft_process_line *line, uint32_t string)
{
    process->context_version++;
    if (!line->tags && !(line->tags = calloc(FT_LINES_TAGS_MAX, sizeof(*line->tags))))
        return;
    line->tags_count = ft_tag_set_replace(&process->names, line->tags, line->tags_count, FT_LINES_TAGS_MAX, string);
}

void ft_lines_set_process_tag(struct ft_process *process, uint32_t string, uint64_t ticks)
{
    if (ft_tag_times_change(&process->tags_all, &process->names, string, ticks))
        process->context_version++;
}

void ft_lines_pass_process_tag(struct ft_process *process, struct ft_process_line *line, uint32_t string,
                               uint64_t ticks)
{
    struct ft_name *name = ft_names_find(&process->names, string);
    if (name && !name->is_tag_of_process) // its process has ended since the look ahead
        ft_lines_set_process_tag(process, string, ticks);
    // What the thread does from here on has it, also what it began before.
    if (name && name->is_tag_of_process && name->tag_ticks > line->process_tags_ticks)
        line->process_tags_ticks = name->tag_ticks;
}

static size_t add_tags(const struct ft_names *names, const uint32_t *set, uint32_t set_count, struct ft_tag *tags,
                       size_t count)
{
    for (uint32_t i = 0; i < set_count; i++) {
        const struct ft_name *name = ft_names_find(names, set[i]);
        size_t key = name ? ft_tag_set_key_bytes(name) : 0;
        if (!name || key == name->bytes_got) // evicted, and the id defined again
            continue;
        tags[count++] = (struct ft_tag){
            .key = {.data = name->text, .len = key},
            .value = {.data = name->text + key + 1, .len = name->bytes_got - key - 1},
        };
    }
    return count;
}

size_t ft_lines_process_tags(const struct ft_process *process, struct ft_tag *tags)
{
    uint32_t count;
    const uint32_t *ids = ft_tag_times_newest(&process->tags_all, &count);
    return add_tags(&process->names, ids, count, tags, 0);
}

uint32_t ft_lines_find_context(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line,
                               uint64_t start_ticks)
{
    uint64_t ticks = start_ticks > line->process_tags_ticks ? start_ticks : line->process_tags_ticks;
    const struct ft_tag_set *set = ft_tag_times_at(&process->tags_all, ticks);
    if (line->context_part == drain->part && line->context_version == process->context_version &&
        line->process_tags == set)
        return line->context;
    struct ft_tag tags[FT_PROCESS_TAGS_MAX + FT_LINES_TAGS_MAX];
    size_t count = set ? add_tags(&process->names, process->tags_all.ids + set->first, set->count, tags, 0) : 0;
    count = add_tags(&process->names, line->tags, line->tags_count, tags, count);
    int64_t id = count ? ft_trace_writer_context(drain->writer, tags, count) : 0;
    line->context = id > 0 ? (uint32_t)id : 0;
    line->context_part = drain->part;
    line->context_version = process->context_version;
    line->process_tags = set;
    return line->context;
}
