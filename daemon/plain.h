// SPDX-License-Identifier: MIT
//
// The short way of an ordinary call, which nearly all events take: one slot, on the file that the call before was on,
// with nothing to learn from it. Everything else takes the long way (drain.c); both give the same row.
#ifndef FT_DAEMON_PLAIN_H
#define FT_DAEMON_PLAIN_H

#include "daemon/children.h"
#include "daemon/drain.h"
#include "daemon/mode.h"
#include "daemon/record.h"

// Calls that tell of other things than themselves.
static inline bool ft_plain_is_special(unsigned call)
{
    return call == FT_CALL_ID_NONE || call == FT_CALL_ID_close || ft_children_concern(call);
}

static inline uint16_t ft_plain_flags(unsigned flags)
{
    return (uint16_t)((flags & FT_CALL_COARSE ? FT_EVENT_F_COARSE_TIME : 0) |
                      (flags & FT_CALL_RACED ? FT_EVENT_F_RACED : 0) | (flags & FT_CALL_CUT ? FT_EVENT_F_PATH_CUT : 0) |
                      (flags & FT_CALL_VFORK ? FT_EVENT_F_VFORK_CHILD : 0));
}

// Result, bytes and what is known, from word 3. False where it takes the long way.
static inline bool ft_plain_result(struct ft_event *event, unsigned flags, uint64_t word3)
{
    uint64_t low = word3 & FT_OFFSET_MAX;
    event->offset = flags & FT_CALL_OFFSET ? (int64_t)low : 0;
    switch (FT_W3_RESULT(word3)) {
    case FT_RESULT_ZERO:
        break;
    case FT_RESULT_SIZE:
        event->result = event->size;
        break;
    case FT_RESULT_ERROR:
        event->result = -1;
        break;
    case FT_RESULT_FD:
        event->result = event->fd;
        break;
    case FT_RESULT_OFFSET:
        event->result = (int64_t)low;
        break;
    case FT_RESULT_SMALL:
        event->result = (int64_t)low;
        break;
    default:
        return false;
    }
    bool has_bytes = (flags & FT_CALL_BYTES_SIZE) || (!(flags & FT_CALL_NO_BYTES) && event->result >= 0);
    event->bytes = !has_bytes ? 0 : flags & FT_CALL_BYTES_SIZE ? (uint64_t)event->size : (uint64_t)event->result;
    event->err = (int32_t)FT_W3_ERRNO(word3);
    event->has = (uint8_t)(FT_HAS_RESULT | FT_HAS_ERR | (flags & FT_CALL_SIZE ? FT_HAS_SIZE : 0) |
                           (flags & FT_CALL_OFFSET ? FT_HAS_OFFSET : 0) | (flags & FT_CALL_ARG ? FT_HAS_ARG : 0) |
                           (has_bytes ? FT_HAS_BYTES : 0));
    return true;
}

// Adds the row of a CALL record of one slot; false where it takes the long way (nothing is changed then). The drain keeps
// rows, the line has its thread and no tags.
static inline bool ft_plain_take(struct ft_drain *drain, struct ft_process *process, const struct ft_process_line *line,
                                 uint64_t base_ticks, const uint64_t *record)
{
    uint64_t word0 = record[0], word1 = record[1], word2 = record[2];
    unsigned flags = FT_W0_FLAGS(word0), call = FT_W0_CALL(word0), fd16 = FT_W0_FD(word0);
    uint32_t file = (uint32_t)word2;
    if ((flags & FT_CALL_VFORK) || (file && file != drain->cached_id) || ft_plain_is_special(call))
        return false;
    struct ft_event event = {
        .kind = FT_EVENT_CALL,
        .call = (uint16_t)call,
        .thread = line->thread,
        .file = file ? drain->cached_file : 0,
        .fd = fd16 >= FT_FD16_EXT ? -1 : (int32_t)fd16,
        .size = flags & FT_CALL_SIZE ? (int64_t)(word2 >> 32) : 0,
        .arg = flags & FT_CALL_ARG ? word2 >> 32 : 0,
        .flags = flags & (FT_CALL_COARSE | FT_CALL_RACED | FT_CALL_CUT) ? ft_plain_flags(flags) : 0,
    };
    if (!ft_plain_result(&event, flags, record[3]))
        return false;
    uint64_t end_ticks = base_ticks + (word1 & FT_END_MAX);
    int64_t end_ns = ft_clock_view_ns(drain->view, end_ticks);
    event.start_ns = ft_clock_view_ns(drain->view, end_ticks - (word1 >> 40));
    event.dur_ns = end_ns > event.start_ns ? end_ns - event.start_ns : 0;
    if (drain->live || process->mode != FT_MODE_TRACE) {
        if (ft_mode_put(drain, process, &event) < 0)
            return false;
    } else {
        if (ft_trace_writer_add(drain->writer, &event) < 0)
            return false;
        process->rows_pending++;
    }
    if (end_ns > process->last_event_ns)
        process->last_event_ns = end_ns;
    return true;
}

#endif
