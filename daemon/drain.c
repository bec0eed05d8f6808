// SPDX-License-Identifier: MIT
#include "daemon/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/annotated.h"
#include "daemon/children.h"
#include "daemon/counted.h"
#include "daemon/files.h"
#include "daemon/lines.h"
#include "daemon/plain.h"
#include "daemon/record.h"
#include "daemon/vfork.h"
#include "proto/calls.h"

// Seconds: more than a batch takes to copy, however busy the machine is.
#define LATE_TICKS_MAX (UINT64_C(1) << 34)

bool ft_drain_may_come(const struct ft_drain *drain, struct ft_process *process)
{
    return !drain->must_not_wait && atomic_load_explicit(&process->state, memory_order_relaxed) == FT_PROCESS_ALIVE;
}

// Of a record that was made after the batch's first copy: what happened before it may not be in the batch. A clock that is
// far ahead is no reason to wait.
static bool is_late(const struct ft_drain *drain, const struct ft_piece *piece, uint64_t ticks)
{
    return ticks > piece->until_ticks && ticks - piece->until_ticks < LATE_TICKS_MAX && !drain->is_replay &&
           !drain->must_not_wait;
}

static bool is_event(unsigned kind)
{
    return kind == FT_RECORD_CALL || kind == FT_RECORD_SPAN || kind == FT_RECORD_INSTANT || kind == FT_RECORD_COUNTER;
}

// A tag of the process, read ahead.
struct ahead {
    uint64_t ticks;
    uint32_t string, order; // as they were read: within a line, as they were set
};

struct aheads {
    struct ahead *items;
    size_t count, room;
};

static void note_ahead(struct aheads *aheads, uint32_t string, uint64_t ticks)
{
    if (aheads->count == aheads->room) {
        size_t room = aheads->room ? aheads->room * 2 : 64;
        struct ahead *items = realloc(aheads->items, room * sizeof(*items));
        if (!items) // then it holds from its record on
            return;
        aheads->items = items;
        aheads->room = room;
    }
    aheads->items[aheads->count] = (struct ahead){.ticks = ticks, .string = string, .order = (uint32_t)aheads->count};
    aheads->count++;
}

static int by_ticks(const void *a, const void *b)
{
    const struct ahead *x = a, *y = b;
    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int read_ahead(struct ft_drain *drain, const struct ft_piece *piece, struct aheads *aheads)
{
    for (unsigned at = piece->from; piece->has_names && at < piece->end;) {
        int slots = ft_record_slots(piece->bytes, at, piece->head.fill);
        if (slots < 0)
            return -EBADMSG;
        const uint64_t *record = ft_record_at(piece->bytes, at);
        unsigned kind = slots ? FT_W0_KIND(record[0]) : FT_RECORD_NONE;
        if (kind == FT_RECORD_DEFINE && ft_names_define(&piece->process->names, record, (unsigned)slots) < 0)
            return -EBADMSG;
        if (kind == FT_RECORD_TAGS && record[1] & FT_TAGS_OF_PROCESS && !is_late(drain, piece, record[2]))
            note_ahead(aheads, (uint32_t)record[1], record[2]);
        at = slots ? at + (unsigned)slots : ft_record_find_published(piece->bytes, at + 1, piece->head.fill);
    }
    return 0;
}

int ft_drain_names(struct ft_drain *drain, const struct ft_batch *batch, size_t from, size_t to)
{
    struct aheads aheads = {0};
    int r = 0;
    drain->cached_id = 0;
    for (size_t i = from; r == 0 && i < to; i++)
        r = read_ahead(drain, &batch->pieces[i], &aheads);
    if (aheads.count)
        qsort(aheads.items, aheads.count, sizeof(*aheads.items), by_ticks);
    for (size_t i = 0; i < aheads.count; i++)
        ft_lines_set_process_tag(batch->pieces[from].process, aheads.items[i].string, aheads.items[i].ticks);
    free(aheads.items);
    return r;
}

void ft_drain_add_lost(struct ft_process *process, uint16_t call, uint64_t count, uint64_t bytes, uint64_t time_ns)
{
    uint32_t at = 0;
    while (at < process->lost_count && process->lost[at].call != call)
        at++;
    if (at == process->lost_count) {
        struct ft_process_lost *lost = realloc(process->lost, (at + 1) * sizeof(*lost));
        if (!lost)
            return;
        process->lost = lost;
        process->lost_count++;
        lost[at] = (struct ft_process_lost){.call = call};
    }
    process->lost[at].count += count;
    process->lost[at].bytes += bytes;
    process->lost[at].time_ns += time_ns;
}

// The file of an id, cached for the runs of calls on one file that programs make. FT_DRAIN_WAIT where its name is not there yet.
static int find_file(struct ft_drain *drain, struct ft_process *process, const struct ft_piece *piece, uint32_t id,
                     uint32_t *out)
{
    *out = 0;
    if (!id)
        return 0;
    if (id == drain->cached_id) {
        *out = drain->cached_file;
        return 0;
    }
    struct ft_name *name = ft_names_find(&process->names, id);
    if (!name) {
        struct ft_segment_position *position = ft_segment_position(&process->segment, piece->chunk);
        if (!ft_drain_may_come(drain, process) || !position || position->was_deferred)
            return 0;
        position->was_deferred = true;
        return FT_DRAIN_WAIT;
    }
    *out = ft_files_id(drain, process, name);
    if (name->is_kept) {
        drain->cached_id = id;
        drain->cached_file = *out;
    } else {
        ft_names_note_used(&process->names, name);
    }
    return 0;
}

// Bytes that a call moved: told, or its result where that counts bytes.
static void add_bytes(const struct ft_record_event *record, struct ft_event *event)
{
    if (record->has_bytes) {
        event->bytes = record->bytes;
        event->has |= FT_HAS_BYTES;
        return;
    }
    if (!record->has_result || record->result < 0 || (record->flags & FT_CALL_NO_BYTES))
        return;
    event->bytes = (uint64_t)record->result;
    event->has |= FT_HAS_BYTES;
}

void ft_drain_fill_event(struct ft_drain *drain, const struct ft_process *process, const struct ft_record_event *record,
                         struct ft_event *event)
{
    int64_t end_ns = ft_process_ns(process, drain->view, record->end_ticks), start_ns = end_ns;
    if (process->clock != FT_CLOCK_TICKS)
        start_ns -= ft_process_claimed_ns(record->duration_ticks);
    else if (record->duration_ticks)
        start_ns = ft_clock_view_ns(drain->view, record->end_ticks - record->duration_ticks);
    event->start_ns = start_ns;
    event->dur_ns = end_ns > start_ns ? end_ns - start_ns : 0;
    event->size = record->size;
    event->offset = record->offset;
    event->result = record->result;
    event->arg = record->arg;
    event->fd = record->fd;
    event->err = record->err;
    event->flags = ft_plain_flags(record->flags);
    event->has = (uint8_t)((record->has_size ? FT_HAS_SIZE : 0) | (record->has_offset ? FT_HAS_OFFSET : 0) |
                           (record->has_result ? FT_HAS_RESULT | FT_HAS_ERR : 0) | (record->has_arg ? FT_HAS_ARG : 0));
}

int ft_drain_add_row(struct ft_drain *drain, struct ft_process *process, struct ft_event *event)
{
    process->last_event_ns = event->start_ns + event->dur_ns > process->last_event_ns ? event->start_ns + event->dur_ns
                                                                                      : process->last_event_ns;
    if (ft_drain_keeps_rows(drain) && ft_mode_put(drain, process, event) == 0)
        return 0;
    // Without rows, or where it has no memory: the totals stay.
    process->dropped[ft_drain_keeps_rows(drain) ? FT_CAUSE_DAEMON_LIMIT : drain->cause]++;
    ft_drain_add_lost(process, event->call, 1, event->has & FT_HAS_BYTES ? event->bytes : 0, (uint64_t)event->dur_ns);
    return 0;
}

static int take_call(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line,
                     const struct ft_piece *piece, const struct ft_record_event *record)
{
    struct ft_event event = {.kind = FT_EVENT_CALL, .call = record->call};
    ft_drain_fill_event(drain, process, record, &event);
    if (ft_drain_keeps_rows(drain)) {
        drain->asked_ns = event.start_ns;
        if (record->has_file_kind)
            ft_files_learn_opened(drain, process, record, &event);
        int r = find_file(drain, process, piece, record->file, &event.file);
        if (r == 0 && ft_files_is_naming(record->call))
            ft_files_learn_naming(drain, process, record, &event);
        if (r == 0 && record->file2)
            r = find_file(drain, process, piece, record->file2, &event.file2);
        if (r)
            return r;
        if (record->flags & FT_CALL_VFORK)
            event.thread = ft_vfork_thread(drain, process, line);
        if (!event.thread)
            event.thread = ft_lines_thread(drain, process, line);
        event.context = ft_lines_context(drain, process, line, record->end_ticks - record->duration_ticks);
    }
    if (!drain->is_replay) {
        ft_files_learn(drain, process, record);
        if (ft_children_concern(record->call))
            ft_children_note_call(drain, process, line, record, event.start_ns);
    }
    add_bytes(record, &event);
    return ft_drain_add_row(drain, process, &event);
}

static int take_gap(struct ft_drain *drain, struct ft_process *process, const struct ft_piece *piece,
                    const uint64_t *record)
{
    uint32_t ignored, id = (uint32_t)(record[1] >> 32);
    if (!ft_drain_keeps_rows(drain))
        return 0;
    int r = ft_annotated_string(drain, process, piece, id, &ignored);
    if (r == 0)
        ft_counted_put_named(drain, process, FT_W0_CALL(record[0]), (uint32_t)record[1],
                             ft_names_find(&process->names, id));
    return r;
}

// One record. 0, FT_DRAIN_WAIT, or -EBADMSG.
static int take_record(struct ft_drain *drain, struct ft_process_line *line, const struct ft_piece *piece,
                       const uint64_t *record, unsigned slots)
{
    struct ft_process *process = piece->process;
    struct ft_record_event event;
    unsigned kind = FT_W0_KIND(record[0]);
    if (drain->is_replay && !is_event(kind))
        return 0;
    switch (kind) {
    case FT_RECORD_CALL:
        if (!ft_record_event(record, slots, piece->head.base_ticks, &event) || !event.call)
            return -EBADMSG;
        return take_call(drain, process, line, piece, &event);
    case FT_RECORD_SPAN:
    case FT_RECORD_INSTANT:
    case FT_RECORD_COUNTER:
        if (!ft_record_event(record, slots, piece->head.base_ticks, &event))
            return -EBADMSG;
        return ft_annotated_take(drain, line, piece, record, slots, &event);
    case FT_RECORD_THREAD:
        ft_lines_set_thread(process, line, (uint32_t)record[1], (uint32_t)(record[1] >> 32));
        return 0;
    case FT_RECORD_VFORK:
        if (FT_W0_CALL(record[0]))
            return ft_vfork_begin(drain, line, piece) ? 0 : FT_DRAIN_WAIT;
        ft_vfork_end(drain, process, line);
        ft_children_note_vfork_end(drain, process, line, (uint32_t)record[1]);
        return 0;
    case FT_RECORD_GAP:
        return take_gap(drain, process, piece, record);
    case FT_RECORD_TAGS:
        if (record[1] & FT_TAGS_OF_PROCESS)
            ft_lines_pass_process_tag(process, line, (uint32_t)record[1], record[2]);
        else
            ft_lines_set_tag(process, line, (uint32_t)record[1]);
        return 0;
    case FT_RECORD_DEFINE: // read before; from here on nobody else can read it
        ft_names_note_fresh(&process->names, (uint32_t)record[1]);
        return 0;
    default: // LOSS is in the head's names_lost too; PAD; kinds of a later minor version
        return 0;
    }
}

bool ft_drain_may_wait(struct ft_drain *drain, const struct ft_piece *piece)
{
    struct ft_segment_position *position = ft_segment_position(&piece->process->segment, piece->chunk);
    if (!ft_drain_may_come(drain, piece->process) || !position)
        return false;
    // The wait is for the slot that we stand at: reaching it ends the wait for an earlier one.
    if (!position->waiting_ns || position->consumed != piece->to)
        position->waiting_ns = drain->now_ns;
    return position->consumed != piece->to || drain->now_ns - position->waiting_ns < drain->torn_wait_ns;
}

// At an unpublished slot: how many slots to pass over, 0 to stop here for now.
static unsigned pass_over_hole(struct ft_drain *drain, struct ft_piece *piece)
{
    unsigned next = ft_record_find_published(piece->bytes, piece->to + 1u, piece->head.fill);
    if (next >= piece->end)
        next = piece->state == FT_CHUNK_FULL ? FT_CHUNK_SLOTS : piece->to;
    if (next == piece->to || ft_drain_may_wait(drain, piece))
        return 0;
    piece->has_holes = true;
    return next - piece->to;
}

// When it was made, of a record whose place in time matters to other threads'.
static uint64_t time_of(const struct ft_piece *piece, const uint64_t *record)
{
    unsigned kind = FT_W0_KIND(record[0]);
    if (is_event(kind))
        return piece->head.base_ticks + (record[1] & FT_END_MAX);
    return kind == FT_RECORD_TAGS ? record[2] : 0;
}

// Whether one-slot calls of this line may take the short way.
static bool is_plain(const struct ft_drain *drain, const struct ft_process *process, const struct ft_process_line *line)
{
    return ft_drain_keeps_rows(drain) && process->clock == FT_CLOCK_TICKS && line->thread_part == drain->part &&
           !line->tags_count && !process->tags_all.set_count;
}

static uint64_t rows_left(const struct ft_drain *drain)
{
    if (!ft_drain_keeps_rows(drain))
        return UINT64_MAX;
    uint64_t rows = ft_trace_writer_rows(drain->writer) + ft_trace_writer_profiled(drain->writer);
    uint64_t left = rows < drain->rows_max ? drain->rows_max - rows : 0;
    uint64_t with_args = ft_trace_writer_args_left(drain->writer) / FT_EVENT_ARGS_MAX;
    return with_args < left ? with_args : left;
}

int ft_drain_piece(struct ft_drain *drain, struct ft_piece *piece)
{
    struct ft_process *process = piece->process;
    struct ft_process_line *line = ft_lines_begin_piece(piece);
    uint64_t left = 0; // rows that surely fit
    if (!line)
        return -ENOMEM;
    bool may_be_plain = is_plain(drain, process, line), may_be_late = piece->until_ticks != UINT64_MAX;
    for (; piece->to < FT_CHUNK_SLOTS; left--) {
        if (!left && !(left = rows_left(drain)))
            return FT_DRAIN_BLOCK_FULL;
        int slots = piece->to < piece->end ? ft_record_slots(piece->bytes, piece->to, piece->head.fill) : 0;
        if (slots < 0)
            return -EBADMSG;
        if (!slots) {
            unsigned skipped = pass_over_hole(drain, piece);
            if (!skipped)
                return FT_DRAIN_DONE;
            piece->to = (uint16_t)(piece->to + skipped);
            continue;
        }
        const uint64_t *record = ft_record_at(piece->bytes, piece->to);
        if (may_be_late && is_late(drain, piece, time_of(piece, record)))
            return FT_DRAIN_LATE;
        if (slots == 1 && may_be_plain && FT_W0_KIND(record[0]) == FT_RECORD_CALL &&
            ft_plain_take(drain, process, line, piece->head.base_ticks, record)) {
            piece->to++;
            continue;
        }
        uint64_t bit = UINT64_C(1) << (piece->to & 63), *dropped = &piece->dropped[piece->to >> 6 & 1];
        uint64_t before = process->dropped[FT_CAUSE_DAEMON_LIMIT];
        if (!drain->is_replay || !(*dropped & bit)) {
            int r = take_record(drain, line, piece, record, (unsigned)slots);
            if (r)
                return r < 0 ? r : FT_DRAIN_DONE;
        }
        *dropped |= process->dropped[FT_CAUSE_DAEMON_LIMIT] != before ? bit : 0;
        may_be_plain = is_plain(drain, process, line);
        piece->to = (uint16_t)(piece->to + slots);
    }
    return FT_DRAIN_DONE;
}
