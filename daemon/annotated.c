// SPDX-License-Identifier: MIT
#include "daemon/annotated.h"

#include <errno.h>

#include "daemon/lines.h"
#include "daemon/plain.h"
#include "daemon/vfork.h"
#include "proto/annotate.h"

int ft_annotated_string(struct ft_drain *drain, struct ft_process *process, const struct ft_piece *piece, uint32_t id,
                        uint32_t *out)
{
    *out = 0;
    struct ft_name *name = ft_names_find(&process->names, id);
    struct ft_segment_position *position = name ? NULL : ft_segment_position(&process->segment, piece->chunk);
    if (!name && id && ft_drain_may_come(drain, process) && position && !position->was_deferred) {
        position->was_deferred = true;
        return FT_DRAIN_WAIT;
    }
    if (!name)
        return 0;
    if (!name->trace_id || name->trace_part != drain->part) {
        struct ft_bytes text = {.data = name->text, .len = name->bytes_got};
        int64_t trace_id = ft_trace_writer_name(drain->writer, text);
        name->trace_id = trace_id > 0 ? (uint32_t)trace_id : 0;
        name->trace_part = drain->part;
    }
    if (!name->is_kept && !name->is_used)
        ft_names_note_used(&process->names, name);
    *out = name->trace_id;
    return 0;
}

// One argument from word `*at` on, which moves behind it. 0, FT_DRAIN_WAIT, or -EBADMSG.
static int take_arg(struct ft_drain *drain, const struct ft_piece *piece, const uint64_t *record, unsigned words,
                    unsigned *at, struct ft_event_arg *out)
{
    if (words - *at < 2)
        return -EBADMSG;
    uint64_t head = record[*at];
    unsigned takes = FT_ARG_WORD_TYPE(head) == FT_ARG_TEXT ? (FT_ARG_WORD_TEXT_BYTES(head) + 7) / 8 : 1;
    if (!FT_ARG_WORD_TYPE(head) || FT_ARG_WORD_TYPE(head) >= FT_ARG_TYPE_END || takes > words - *at - 1)
        return -EBADMSG;
    out->type = FT_ARG_WORD_TYPE(head);
    if (out->type == FT_ARG_TEXT) {
        struct ft_bytes text = {.data = (const char *)&record[*at + 1], .len = FT_ARG_WORD_TEXT_BYTES(head)};
        int64_t id = ft_trace_writer_name(drain->writer, text);
        out->value = id > 0 ? (uint64_t)id : 0;
    } else {
        out->value = record[*at + 1];
    }
    *at += 1 + takes;
    return ft_annotated_string(drain, piece->process, piece, FT_ARG_WORD_KEY(head), &out->key);
}

static int take_args(struct ft_drain *drain, const struct ft_piece *piece, const uint64_t *record, unsigned slots,
                     struct ft_event *event)
{
    struct ft_event_arg args[FT_EVENT_ARGS_MAX];
    unsigned count = FT_W0_CALL(record[0]), words = slots * FT_SLOT_WORDS, at = ft_record_extension_end(record, slots);
    if (count > FT_EVENT_ARGS_MAX || slots < 2)
        return -EBADMSG;
    for (unsigned i = 0; i < count; i++) {
        int r = take_arg(drain, piece, record, words, &at, &args[i]);
        if (r)
            return r;
    }
    int64_t first = ft_trace_writer_args(drain->writer, args, count);
    if (first >= 0) {
        event->first_arg = (uint32_t)first;
        event->arg_count = (uint8_t)count;
    } else {
        event->flags |= FT_EVENT_F_ARGS_CUT;
    }
    return 0;
}

// Ids to rows: name, category, arguments; and whose event it is.
static int take_names(struct ft_drain *drain, struct ft_process_line *line, const struct ft_piece *piece,
                      const uint64_t *words, unsigned slots, const struct ft_record_event *record,
                      struct ft_event *event)
{
    struct ft_process *process = piece->process;
    int r = ft_annotated_string(drain, process, piece, record->file, &event->name);
    if (r == 0)
        r = ft_annotated_string(drain, process, piece, record->category, &event->category);
    if (r == 0 && record->call && process->mode == FT_MODE_TRACE) // sums have none
        r = take_args(drain, piece, words, slots, event);
    if (r)
        return r;
    if (record->flags & FT_CALL_VFORK)
        event->thread = ft_vfork_thread(drain, process, line);
    if (!event->thread)
        event->thread = ft_lines_thread(drain, process, line);
    event->context = ft_lines_context(drain, process, line, record->end_ticks - record->duration_ticks);
    return 0;
}

int ft_annotated_take(struct ft_drain *drain, struct ft_process_line *line, const struct ft_piece *piece,
                      const uint64_t *words, unsigned slots, const struct ft_record_event *record)
{
    static const uint8_t kinds[] = {
        [FT_RECORD_SPAN] = FT_EVENT_SPAN,
        [FT_RECORD_INSTANT] = FT_EVENT_INSTANT,
        [FT_RECORD_COUNTER] = FT_EVENT_COUNTER,
    };
    struct ft_event names = {0}, event = {.kind = kinds[record->kind], .fd = -1};
    int r = ft_drain_keeps_rows(drain) ? take_names(drain, line, piece, words, slots, record, &names) : 0;
    if (r)
        return r;
    struct ft_event times;
    ft_drain_fill_event(drain, piece->process, record, &times);
    event.start_ns = times.start_ns;
    event.dur_ns = record->kind == FT_RECORD_SPAN ? times.dur_ns : 0;
    event.name = names.name;
    event.category = names.category;
    event.thread = names.thread;
    event.context = names.context;
    event.first_arg = names.first_arg;
    event.arg_count = names.arg_count;
    event.flags = (uint16_t)(names.flags | ft_plain_flags(record->flags & (FT_CALL_COARSE | FT_CALL_VFORK)) |
                             (record->flags & FT_SPAN_DOUBLE ? FT_EVENT_F_DOUBLE : 0) |
                             (record->flags & FT_SPAN_CUT ? FT_EVENT_F_ARGS_CUT : 0));
    if (record->kind == FT_RECORD_COUNTER) {
        event.arg = (uint64_t)record->result;
        event.has = FT_HAS_ARG;
    } else if (record->has_correlation) {
        event.arg = record->correlation;
        event.result = record->result;
        event.has = FT_HAS_ARG | FT_HAS_RESULT;
    }
    return ft_drain_add_row(drain, piece->process, &event);
}
