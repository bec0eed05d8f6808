// SPDX-License-Identifier: MIT
//
// Names and files that are read when they are asked for. A TABLES message says where they begin (fields first_name and
// first_file): what stands before that is taken in at once, without inflating the rest.
#include "proto/trace_reader_impl.h"

#include <errno.h>
#include <zlib.h>

#define FIRST_BYTES ((size_t)8 << 10)

enum { FIELD_FIRST_NAME = 17, FIELD_FIRST_FILE = 18 };
enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct mark {
    size_t at; // fields before are walked
    uint32_t first_name, first_file;
};
enum walked { WALKED_MORE, WALKED_FOUND, WALKED_NONE };

// False where the bytes end within it, or it is none.
static bool get_varint(const uint8_t *bytes, size_t len, size_t *at, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; *at < len && shift < 64; shift += 7) {
        uint8_t byte = bytes[(*at)++];

        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool skip(size_t len, size_t *at, uint64_t count)
{
    if (count > len - *at)
        return false;
    *at += (size_t)count;
    return true;
}

// Walks over the fields of a message up to the mark.
static enum walked walk(const uint8_t *bytes, size_t len, struct mark *mark)
{
    for (;;) {
        size_t at = mark->at;
        uint64_t tag, value = 0;
        bool is_whole = get_varint(bytes, len, &at, &tag);

        if (is_whole && (tag & 7) == WIRE_VARINT)
            is_whole = get_varint(bytes, len, &at, &value);
        else if (is_whole && (tag & 7) == WIRE_BYTES)
            is_whole = get_varint(bytes, len, &at, &value) && skip(len, &at, value);
        else if (is_whole && ((tag & 7) == WIRE_64 || (tag & 7) == WIRE_32))
            is_whole = skip(len, &at, (tag & 7) == WIRE_64 ? 8 : 4);
        else if (is_whole)
            return WALKED_NONE;
        if (is_whole && (tag >> 3 == 1 || tag >> 3 == 2)) // names or files before a mark
            return WALKED_NONE;
        if (!is_whole)
            return WALKED_MORE;
        mark->at = at;
        if (tag == (FIELD_FIRST_NAME << 3 | WIRE_VARINT))
            mark->first_name = (uint32_t)value;
        if (tag == (FIELD_FIRST_FILE << 3 | WIRE_VARINT)) {
            mark->first_file = (uint32_t)value;
            return mark->first_name && mark->first_file ? WALKED_FOUND : WALKED_NONE;
        }
    }
}

// The same of a message that is inflated only as far as that needs; *out: its bytes.
static enum walked walk_stream(struct ft_arena *scratch, z_stream *stream, const uint8_t **out, struct mark *mark)
{
    enum walked walked = WALKED_MORE;
    uint8_t *raw = NULL;
    int rc = Z_OK;

    for (size_t cap = FIRST_BYTES; walked == WALKED_MORE && rc == Z_OK && cap <= FT_FRAME_HEAD_MAX; cap *= 2) {
        uint8_t *bigger = ft_arena_alloc(scratch, cap);

        if (!bigger)
            return WALKED_NONE;
        if (stream->total_out)
            memcpy(bigger, raw, stream->total_out);
        raw = bigger;
        stream->next_out = raw + stream->total_out;
        stream->avail_out = (uInt)(cap - stream->total_out);
        rc = inflate(stream, Z_NO_FLUSH);
        walked = walk(raw, stream->total_out, mark);
    }
    *out = raw;
    return walked;
}

static bool find_mark(struct ft_arena *scratch, const struct ft_frame *frame, const uint8_t *head, const uint8_t **out,
                      struct mark *mark)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)head, .avail_in = frame->head_len};
    enum walked walked;

    *out = head;
    if (!(frame->flags & FT_FRAME_F_ZLIB))
        return walk(head, frame->head_len, mark) == WALKED_FOUND;
    if (inflateInit(&stream) != Z_OK)
        return false;
    walked = walk_stream(scratch, &stream, out, mark);
    inflateEnd(&stream);
    return walked == WALKED_FOUND;
}

bool ft_reader_defer(struct ft_trace_reader *reader, struct ft_arena *scratch, const struct ft_frame *frame,
                     uint64_t offset, const uint8_t *head)
{
    ProtobufCAllocator allocator = ft_arena_allocator(scratch);
    const struct ft_reader_deferred *last =
        reader->deferred.count ? &reader->deferred.items[reader->deferred.count - 1] : NULL;
    struct ft_reader_deferred *deferred;
    struct mark mark = {0};
    Flowtap__Tables *tables;
    const uint8_t *bytes;
    int rc;

    if (!find_mark(scratch, frame, head, &bytes, &mark) ||
        (last && (mark.first_name < last->first_name || mark.first_file < last->first_file)))
        return false;
    tables = flowtap__tables__unpack(&allocator, mark.at, bytes);
    deferred = tables ? FT_LIST_ADD(reader, deferred) : NULL;
    if (!deferred)
        return false;
    *deferred = (struct ft_reader_deferred){
        .offset = offset, .first_name = mark.first_name, .first_file = mark.first_file, .is_waiting = true};
    rc = ft_reader_load_tables(reader, tables);
    if (rc)
        ft_reader_note(reader, rc == -ENOMEM ? FT_PROBLEM_LIMIT : FT_PROBLEM_BAD_RECORD, offset, mark.at);
    return true;
}

static void rename_names(struct ft_trace_reader *reader, const Flowtap__Tables *tables)
{
    for (size_t i = 0; i < tables->n_names; i++)
        ft_reader_rename(reader, tables->names[i]->first_id, tables->names[i]->n_rest);
}

static int read_names(struct ft_trace_reader *reader, struct ft_window *window, uint64_t offset)
{
    struct ft_arena scratch = {.bytes_max = FT_READER_MESSAGE_MAX};
    ProtobufCAllocator allocator = ft_arena_allocator(&scratch);
    Flowtap__Tables *tables = NULL;
    struct ft_frame frame;
    const uint8_t *bytes, *head;
    bool has_no_memory;
    size_t len;
    int rc = ft_window_get(window, offset, FT_FRAME_HEADER_BYTES, &bytes);

    if (rc == 0)
        rc = ft_frame_decode(bytes, &frame);
    if (rc == 0 && frame.head_len > reader->source.size - offset - FT_FRAME_HEADER_BYTES)
        rc = -ESTALE;
    if (rc == 0)
        rc = ft_window_get(window, offset, FT_FRAME_HEADER_BYTES + (size_t)frame.head_len, &bytes);
    if (rc)
        return rc;
    head = bytes + FT_FRAME_HEADER_BYTES;
    len = frame.head_len;
    if (!ft_frame_check_head(bytes, &frame, head))
        return -ESTALE;
    if (frame.flags & FT_FRAME_F_ZLIB)
        rc = ft_reader_inflate_head(&scratch, head, frame.head_len, &head, &len);
    if (rc == 0)
        tables = flowtap__tables__unpack(&allocator, len, head);
    if (tables) {
        rc = ft_reader_load_names(reader, tables);
        rename_names(reader, tables);
    }
    has_no_memory = scratch.has_no_memory;
    reader->arena.has_no_memory |= has_no_memory;
    ft_arena_fini(&scratch);
    return tables ? rc : rc == -ENOMEM || has_no_memory ? -ENOMEM : -EBADMSG;
}

static void need(struct ft_trace_reader *reader, struct ft_reader_deferred *deferred, struct ft_window *window)
{
    int rc;

    if (!deferred->is_waiting)
        return;
    deferred->is_waiting = false;
    rc = ft_window_attach(window, &reader->source);
    if (rc == 0)
        rc = read_names(reader, window, deferred->offset);
    if (rc)
        ft_reader_note(reader, rc == -ENOMEM ? FT_PROBLEM_LIMIT : FT_PROBLEM_BAD_RECORD, deferred->offset, 0);
}

// The last frame that begins with this id or one before.
static void need_id(const struct ft_trace_reader *reader, uint32_t id, bool is_file)
{
    struct ft_trace_reader *own = (struct ft_trace_reader *)(uintptr_t)reader;
    struct ft_window window = {.fd = -1};
    size_t from = 0, to = own->deferred.count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const struct ft_reader_deferred *at = &own->deferred.items[middle];

        if ((is_file ? at->first_file : at->first_name) <= id)
            from = middle + 1;
        else
            to = middle;
    }
    if (from > 0)
        need(own, &own->deferred.items[from - 1], &window);
    ft_window_detach(&window);
}

void ft_reader_need_name(const struct ft_trace_reader *reader, uint32_t id)
{
    need_id(reader, id, false);
}

void ft_reader_need_file(const struct ft_trace_reader *reader, uint32_t id)
{
    need_id(reader, id, true);
}

void ft_reader_need_all(const struct ft_trace_reader *reader)
{
    struct ft_trace_reader *own = (struct ft_trace_reader *)(uintptr_t)reader;
    struct ft_window window = {.fd = -1};

    for (size_t i = 0; i < own->deferred.count; i++)
        need(own, &own->deferred.items[i], &window);
    ft_window_detach(&window);
}

int ft_reader_read_rest(struct ft_trace_reader *reader)
{
    ft_reader_need_all(reader);
    reader->options.defer_names = false;
    return reader->arena.has_no_memory ? -ENOMEM : 0;
}
