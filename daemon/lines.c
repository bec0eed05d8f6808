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

// A tag's string is that tag's alone: when it holds no more, the string may go before all others.
static void give_up(struct ft_names *names, struct ft_name *tag)
{
    tag->closed_in = 1;
    if (tag->is_told)
        ft_names_note_fresh(names, tag->id);
}

static void give_up_tags(struct ft_names *names, struct ft_process_line *line)
{
    for (uint32_t i = 0; i < line->tags_count; i++) {
        struct ft_name *tag = ft_names_find(names, line->tags[i]);
        if (tag)
            give_up(names, tag);
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

// Bytes of "key" in "key=value".
static size_t key_bytes(const struct ft_name *name)
{
    const char *equals = memchr(name->text, '=', name->bytes_got);
    return equals ? (size_t)(equals - name->text) : name->bytes_got;
}

static bool is_same_key(const struct ft_name *a, const struct ft_name *b)
{
    return key_bytes(a) == key_bytes(b) && memcmp(a->text, b->text, key_bytes(a)) == 0;
}

// Puts `string` into a set in place of the tag with the same key; an empty value only takes that away.
static uint32_t replace_tag(struct ft_names *names, uint32_t *set, uint32_t count, uint32_t room, uint32_t string)
{
    struct ft_name *tag = ft_names_find(names, string);
    if (!tag)
        return count;
    for (uint32_t i = 0; i < count; i++) {
        struct ft_name *other = ft_names_find(names, set[i]);
        if (other && !is_same_key(tag, other))
            continue;
        if (other && other != tag)
            give_up(names, other);
        memmove(set + i, set + i + 1, (count - i - 1) * sizeof(*set));
        count--;
        break;
    }
    if (count < room && key_bytes(tag) + 1 < tag->bytes_got)
        set[count++] = string;
    else
        give_up(names, tag);
    return count;
}

void ft_lines_set_tag(struct ft_process *process, struct ft_process_line *line, uint32_t string, bool is_process_wide)
{
    process->context_version++;
    if (is_process_wide) {
        process->tags_all_count =
            replace_tag(&process->names, process->tags_all, process->tags_all_count, FT_PROCESS_TAGS_MAX, string);
        return;
    }
    if (!line->tags && !(line->tags = calloc(FT_LINES_TAGS_MAX, sizeof(*line->tags))))
        return;
    line->tags_count = replace_tag(&process->names, line->tags, line->tags_count, FT_LINES_TAGS_MAX, string);
}

static size_t add_tags(const struct ft_names *names, const uint32_t *set, uint32_t set_count, struct ft_tag *tags,
                       size_t count)
{
    for (uint32_t i = 0; i < set_count; i++) {
        const struct ft_name *name = ft_names_find(names, set[i]);
        size_t key = name ? key_bytes(name) : 0;
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
    return add_tags(&process->names, process->tags_all, process->tags_all_count, tags, 0);
}

uint32_t ft_lines_make_context(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line)
{
    struct ft_tag tags[FT_PROCESS_TAGS_MAX + FT_LINES_TAGS_MAX];
    size_t count = add_tags(&process->names, process->tags_all, process->tags_all_count, tags, 0);
    count = add_tags(&process->names, line->tags, line->tags_count, tags, count);
    int64_t id = count ? ft_trace_writer_context(drain->writer, tags, count) : 0;
    line->context = id > 0 ? (uint32_t)id : 0;
    line->context_part = drain->part;
    line->context_version = process->context_version;
    return line->context;
}
