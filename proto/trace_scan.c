// SPDX-License-Identifier: MIT
//
// Walks the frames of a file, over damage: after bytes that are no whole frame it
// looks for the next magic whose head's crc holds. The data of blocks is passed
// over; only where the frame behind it is missing is its crc looked at, since
// then bytes may have been cut out of it.
#include "proto/trace_reader_impl.h"

#include <errno.h>

#define PROGRESS_BYTES ((uint64_t)16 << 20)
// Looking for the next frame may check so many bytes of false ones, beside a few
// times the file's size; after that only frames with short heads are found. A file
// made of magics cannot hold the reader for long.
#define FALSE_BYTES_MAX ((uint64_t)256 << 20)
#define FALSE_BYTES_PER_BYTE 4
#define SHORT_HEAD_BYTES 512U

struct scan {
    struct ft_trace_reader *reader;
    struct ft_window *window;
    struct ft_arena scratch;
    uint64_t size;
    uint64_t false_bytes; // checked in vain
    uint64_t told;        // progress
    // The data of the frame before, if it is not known to be whole.
    uint64_t data_offset;
    struct ft_frame data_frame;
};

static bool is_patience_over(const struct scan *scan)
{
    return scan->false_bytes > FALSE_BYTES_MAX && scan->false_bytes / FALSE_BYTES_PER_BYTE > scan->size;
}

// A whole frame at `offset`? 0 with its head, -EBADMSG no, or -errno.
static int get_frame(struct scan *scan, uint64_t offset, bool is_guess, struct ft_frame *frame, const uint8_t **head)
{
    uint64_t left = scan->size - offset;
    const uint8_t *bytes;
    int rc;

    if (left < FT_FRAME_HEADER_BYTES)
        return -EBADMSG;
    rc = ft_window_get(scan->window, offset, FT_FRAME_HEADER_BYTES, &bytes);
    if (rc == 0)
        rc = ft_frame_decode(bytes, frame);
    if (rc)
        return rc;
    left -= FT_FRAME_HEADER_BYTES;
    if (frame->head_len > left || frame->data_len > left - frame->head_len)
        return -EBADMSG;
    if (is_guess && frame->head_len > SHORT_HEAD_BYTES && is_patience_over(scan))
        return -EBADMSG;
    rc = ft_window_get(scan->window, offset, FT_FRAME_HEADER_BYTES + (size_t)frame->head_len, &bytes);
    if (rc)
        return rc;
    *head = bytes + FT_FRAME_HEADER_BYTES;
    if (ft_frame_check_head(bytes, frame, *head))
        return 0;
    scan->false_bytes += frame->head_len;
    return -EBADMSG;
}

// The first whole frame at or after *offset; size where there is none.
static int find_frame(struct scan *scan, uint64_t *offset)
{
    uint64_t at = *offset;

    while (at < scan->size) {
        const uint8_t *bytes, *head;
        struct ft_frame frame;
        size_t len, hit;
        int rc = ft_window_get(scan->window, at, 1, &bytes);

        if (rc)
            return rc;
        len = ft_window_available(scan->window, at);
        hit = ft_frame_find(bytes, len, 0);
        at += hit;
        if (hit == len) {
            at = ft_window_skip_hole(scan->window, at); // a file of nothing may be as large as it likes
            continue;
        }
        rc = get_frame(scan, at, true, &frame, &head);
        if (rc == 0)
            break;
        if (rc != -EBADMSG)
            return rc;
        at++;
    }
    *offset = at < scan->size ? at : scan->size;
    return 0;
}

// The data of the frame before the damage: whole, or does the damage begin in it?
static int check_data_before(struct scan *scan, bool *is_whole)
{
    const uint8_t *data;
    int rc;

    *is_whole = true;
    if (scan->data_frame.data_len == 0 || is_patience_over(scan))
        return 0;
    rc = ft_window_get(scan->window, scan->data_offset, scan->data_frame.data_len, &data);
    if (rc)
        return rc;
    *is_whole = ft_frame_check_data(&scan->data_frame, data);
    if (!*is_whole)
        scan->false_bytes += scan->data_frame.data_len;
    return 0;
}

// Steps over bytes at *offset that are no frame.
static int skip_damage(struct scan *scan, uint64_t *offset)
{
    uint64_t from = *offset, next = *offset + 1;
    bool is_whole;
    int rc = check_data_before(scan, &is_whole);

    if (rc)
        return rc;
    if (!is_whole) {
        from = scan->data_offset;
        next = from;
    }
    rc = find_frame(scan, &next);
    if (rc)
        return rc;
    if (next == scan->size)
        ft_reader_note(scan->reader, FT_PROBLEM_TORN, from, next - from);
    else
        ft_reader_note(scan->reader, FT_PROBLEM_DAMAGED, from, next - from);
    *offset = next;
    return 0;
}

static void tell_progress(struct scan *scan, uint64_t offset)
{
    const struct ft_trace_reader_options *options = &scan->reader->options;

    if (!options->progress || (offset - scan->told < PROGRESS_BYTES && offset < scan->size))
        return;
    options->progress(options->progress_context, offset, scan->size);
    scan->told = offset;
}

// What stands behind the end, or begins with a header of its own (files put together), is no part of this trace: its ids
// are others, and its rows would be told with the names of this one.
static bool ends_before(const struct scan *scan, uint64_t offset, const struct ft_frame *frame)
{
    struct ft_trace_reader *reader = scan->reader;
    bool is_header = frame && frame->kind == FT_FRAME_HEADER;

    if (!reader->is_closed && !(is_header && reader->frame_count > 0))
        return false;
    ft_reader_note(reader, is_header ? FT_PROBLEM_ANOTHER_TRACE : FT_PROBLEM_BEHIND_END, offset, scan->size - offset);
    return true;
}

static int scan_frames(struct scan *scan)
{
    uint64_t offset = 0;

    while (offset < scan->size) {
        struct ft_frame frame;
        const uint8_t *head;
        int rc = get_frame(scan, offset, false, &frame, &head);

        if ((rc == 0 || rc == -EBADMSG) && ends_before(scan, offset, rc ? NULL : &frame))
            return 0;
        if (rc == -EBADMSG)
            rc = skip_damage(scan, &offset);
        else if (rc == 0) {
            rc = ft_reader_load(scan->reader, &scan->scratch, &frame, offset, head);
            scan->data_offset = offset + FT_FRAME_HEADER_BYTES + frame.head_len;
            scan->data_frame = frame;
            offset = scan->data_offset + frame.data_len;
        }
        if (rc)
            return rc;
        tell_progress(scan, offset);
    }
    return 0;
}

int ft_reader_scan(struct ft_trace_reader *reader, struct ft_window *window)
{
    struct scan scan = {
        .reader = reader,
        .window = window,
        .size = reader->source.size,
        .scratch.bytes_max = FT_READER_MESSAGE_MAX,
    };
    int rc = scan_frames(&scan);

    ft_arena_fini(&scan.scratch);
    return rc;
}
