// SPDX-License-Identifier: MIT
#include "daemon/restore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/children.h"
#include "daemon/lines.h"
#include "daemon/record.h"
#include "daemon/vfork.h"

// A chunk in use.
struct used {
    uint32_t chunk, line;
    uint64_t sequence;
    unsigned to; // slots taken before us
};

void ft_restore_note(struct ft_segment_position *position, uint64_t fill, unsigned slots)
{
    if (!fill || slots > FT_CHUNK_SLOTS || fill < position->fill)
        return;
    if (fill == position->fill && slots <= position->consumed)
        return;
    position->fill = fill;
    position->consumed = (uint16_t)slots;
}

void ft_restore_note_range(struct ft_segment *segment, const struct ft_trace_range *range)
{
    if (range->chunk >= segment->geometry.chunks_max)
        return;
    struct ft_segment_position *position = ft_segment_position(segment, range->chunk);
    if (position)
        ft_restore_note(position, range->fill, range->to);
}

static bool has_holes(const uint8_t *chunk, uint64_t fill, unsigned to)
{
    for (unsigned at = 0; at < to;) {
        int slots = ft_record_slots(chunk, at, fill);
        if (slots <= 0)
            return true;
        at += (unsigned)slots;
    }
    return false;
}

// What the slots before `to` said that is not in the file.
static int read_again(struct ft_process *process, struct ft_process_line *line, const uint8_t *chunk, unsigned to)
{
    struct ft_chunk_head head;
    memcpy(&head, chunk, sizeof(head));
    ft_lines_set_thread(process, line, head.tid, head.ordinal);
    ft_vfork_restore(line, chunk, &head, to);
    for (unsigned at = 0; at < to;) {
        int slots = ft_record_slots(chunk, at, head.fill);
        if (slots < 0)
            return -EBADMSG;
        const uint64_t *record = ft_record_at(chunk, at);
        unsigned kind = slots ? FT_W0_KIND(record[0]) : FT_RECORD_NONE;
        struct ft_record_event event;
        if (kind == FT_RECORD_DEFINE && ft_names_define(&process->names, record, (unsigned)slots) < 0)
            return -EBADMSG;
        if (kind == FT_RECORD_THREAD)
            ft_lines_set_thread(process, line, (uint32_t)record[1], (uint32_t)(record[1] >> 32));
        if (kind == FT_RECORD_CALL && ft_children_concern(FT_W0_CALL(record[0])) &&
            ft_record_event(record, (unsigned)slots, head.base_ticks, &event))
            ft_children_note_exec(process, line, &event, 0);
        at = slots ? at + (unsigned)slots : ft_record_find_published(chunk, at + 1, head.fill);
    }
    return 0;
}

// Looks at a chunk: its position and, where it is in use, what it is. 1: it is in use.
static int look_at_chunk(struct ft_process *process, uint32_t chunk, uint8_t *bytes, struct used *used)
{
    struct ft_segment *segment = &process->segment;
    struct ft_segment_position *position = ft_segment_position(segment, chunk);
    struct ft_chunk_head head;
    uint64_t word;
    int r = position ? ft_segment_read_consumed(segment, chunk, &word) : -ENOMEM;
    if (r < 0)
        return r;
    ft_restore_note(position, FT_CONSUMED_FILL(word), FT_CONSUMED_SLOTS(word));
    // The next daemon may not find the ranges that say so any more.
    if (position->fill && FT_CONSUMED(position->fill, position->consumed) != word)
        ft_segment_store_consumed(segment, chunk, position->fill, position->consumed);
    if (segment->states[chunk] != FT_CHUNK_FILLING && segment->states[chunk] != FT_CHUNK_FULL)
        return 0;
    r = ft_segment_read_chunks(segment, chunk, 1, bytes);
    if (r < 0)
        return r;
    memcpy(&head, bytes, sizeof(head));
    if (head.fill < position->fill || head.line >= segment->geometry.lines_max)
        return 0;
    unsigned to = head.fill == position->fill ? position->consumed : 0;
    position->has_holes = has_holes(bytes, head.fill, to);
    *used = (struct used){.chunk = chunk, .line = head.line, .sequence = head.sequence, .to = to};
    return 1;
}

static int by_line_and_sequence(const void *a, const void *b)
{
    const struct used *x = a, *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static int restore_lines(struct ft_process *process, const struct used *used, size_t count, uint8_t *bytes)
{
    for (size_t i = 0; i < count; i++) {
        bool is_first = i == 0 || used[i - 1].line != used[i].line;
        if (!is_first && !used[i].to)
            continue; // its head is read when it is drained
        struct ft_process_line *line = ft_lines_at(process, used[i].line);
        int r = line ? ft_segment_read_chunks(&process->segment, used[i].chunk, 1, bytes) : -ENOMEM;
        if (r == 0)
            r = read_again(process, line, bytes, used[i].to);
        if (r < 0)
            return r;
    }
    return 0;
}

int ft_restore_chunks(struct ft_process *process)
{
    struct ft_segment *segment = &process->segment;
    int r = ft_segment_restore_granted(segment);
    if (r == 0)
        r = ft_segment_look_again(segment);
    if (r < 0)
        return r;
    size_t count = 0;
    struct used *used = calloc(segment->counts.chunks_ready ? segment->counts.chunks_ready : 1, sizeof(*used));
    uint8_t *bytes = aligned_alloc(FT_CHUNK_BYTES, FT_CHUNK_BYTES);
    r = used && bytes ? 0 : -ENOMEM;
    for (uint32_t chunk = 0; r >= 0 && chunk < segment->counts.chunks_ready; chunk++) {
        r = look_at_chunk(process, chunk, bytes, &used[count]);
        count += r > 0;
    }
    if (r >= 0 && count)
        qsort(used, count, sizeof(*used), by_line_and_sequence);
    if (r >= 0)
        r = restore_lines(process, used, count, bytes);
    process->chunks_wanted = segment->counts.chunks_wanted;
    free(used);
    free(bytes);
    return r < 0 ? r : 0;
}

static void copy_tags(uint32_t *to, uint32_t *count, uint32_t room, const uint32_t *from, size_t from_count)
{
    *count = from_count < room ? (uint32_t)from_count : room;
    if (*count)
        memcpy(to, from, *count * sizeof(*to));
}

void ft_restore_tags(struct ft_process *process, const struct ft_trace_tagged *tagged)
{
    ft_tag_times_restore(&process->tags_all, tagged->all, tagged->all_count);
    for (uint32_t i = 0; i < process->lines_count; i++)
        process->lines[i].tags_count = 0;
    for (size_t i = 0; i < tagged->line_count; i++) {
        const struct ft_trace_line_tags *from = &tagged->lines[i];
        if (from->line >= process->segment.geometry.lines_max)
            continue;
        struct ft_process_line *line = ft_lines_at(process, from->line);
        if (!line || (line->ordinal && (line->ordinal != from->ordinal || line->tid != from->tid)))
            continue;
        ft_lines_set_thread(process, line, from->tid, from->ordinal);
        if (line->tags || (line->tags = calloc(FT_LINES_TAGS_MAX, sizeof(*line->tags))))
            copy_tags(line->tags, &line->tags_count, FT_LINES_TAGS_MAX, from->tags, from->count);
    }
    process->context_version++;
}
