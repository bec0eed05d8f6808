// SPDX-License-Identifier: MIT
//
// The writer's other half: ending blocks, and the bytes on their way to the disk.
#include "proto/frame.h"
#include "proto/trace_writer_impl.h"

// A buffer larger than this is given back when it is empty.
#define OUT_KEPT_BYTES ((size_t)4 << 20)

// The file's offset of the next frame.
static uint64_t next_offset(const struct ft_trace_writer *writer)
{
    return writer->out_offset + writer->out.len;
}

int ft_trace_writer_flush(struct ft_trace_writer *writer)
{
    return writer->is_finished ? -EPIPE : ft_tables_flush(&writer->tables, &writer->out, &writer->frames);
}

int ft_trace_writer_end_block(struct ft_trace_writer *writer, const struct ft_trace_range *ranges, size_t range_count)
{
    size_t rows = ft_block_rows(writer->encoder);
    struct ft_writer_block *block;
    int rc;

    if (rows == 0)
        return range_count ? -EINVAL : ft_trace_writer_flush(writer);
    // A flush that succeeds may stay where the block fails: its frames are whole.
    rc = ft_trace_writer_flush(writer);
    if (rc == 0)
        rc = ft_array_grow(&writer->blocks, &writer->block_cap, writer->block_count, sizeof(*writer->blocks));
    if (rc)
        return rc;
    block = &writer->blocks[writer->block_count];
    block->offset = next_offset(writer);
    rc = ft_block_encode(writer->encoder, ranges, range_count, &writer->tagged, &writer->out, &block->span);
    if (rc)
        return rc;
    writer->tagged.len = 0;
    writer->block_count++;
    writer->frames++;
    writer->events += rows;
    return 0;
}

int ft_trace_writer_end_profile(struct ft_trace_writer *writer, const struct ft_trace_range *ranges, size_t range_count)
{
    uint64_t events = writer->profile.events;
    int rc;

    if (events == 0)
        return range_count ? -EINVAL : 0;
    if (ft_block_rows(writer->encoder))
        return -EINVAL;
    rc = ft_trace_writer_flush(writer);
    if (rc == 0)
        rc = ft_block_encode_profile(writer->encoder, &writer->profile, ranges, range_count, &writer->tagged,
                                     &writer->out);
    if (rc)
        return rc;
    writer->tagged.len = 0;
    writer->frames++;
    writer->profiled += events;
    return 0;
}

static int append_index(struct ft_trace_writer *writer)
{
    size_t count = writer->block_count;
    Flowtap__Index index = FLOWTAP__INDEX__INIT;
    uint64_t offset_before = 0;
    int64_t start_before = 0;

    ft_arena_reset(&writer->tables.arena);
    index.block_offset = ft_arena_alloc(&writer->tables.arena, count * sizeof(*index.block_offset));
    index.block_start_ns = ft_arena_alloc(&writer->tables.arena, count * sizeof(*index.block_start_ns));
    index.block_span_ns = ft_arena_alloc(&writer->tables.arena, count * sizeof(*index.block_span_ns));
    if (!index.block_offset || !index.block_start_ns || !index.block_span_ns)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct ft_writer_block *block = &writer->blocks[i];

        index.block_offset[i] = block->offset - offset_before;
        index.block_start_ns[i] = block->span.start_ns - start_before;
        index.block_span_ns[i] = block->span.span_ns;
        offset_before = block->offset;
        start_before = block->span.start_ns;
    }
    index.n_block_offset = index.n_block_start_ns = index.n_block_span_ns = count;
    index.rows = writer->events;
    index.profiled = writer->profiled;
    index.frames = writer->frames;
    index.names = writer->tables.names.count;
    index.files = writer->tables.files.count;
    index.processes = writer->tables.process_count;
    index.threads = writer->tables.thread_count;
    return ft_writer_append_frame(writer, FT_FRAME_INDEX, &index.base);
}

int ft_trace_writer_finish(struct ft_trace_writer *writer)
{
    Flowtap__End end = FLOWTAP__END__INIT;
    size_t before;
    uint64_t frames;
    int rc;

    if (ft_block_rows(writer->encoder) || writer->profile.events)
        return -EINVAL;
    rc = ft_trace_writer_flush(writer);
    if (rc)
        return rc;
    before = writer->out.len;
    frames = writer->frames;
    end.index_offset = next_offset(writer);
    rc = append_index(writer);
    // An index that is too large or has no memory is done without: readers scan.
    if (rc)
        end.index_offset = 0;
    rc = ft_writer_append_frame(writer, FT_FRAME_END, &end.base);
    if (rc) {
        writer->out.len = before;
        writer->frames = frames;
        return rc;
    }
    writer->is_finished = true;
    return 0;
}

const uint8_t *ft_trace_writer_data(const struct ft_trace_writer *writer, size_t *len)
{
    *len = writer->out.len - writer->consumed;
    return *len ? writer->out.data + writer->consumed : NULL;
}

// Bytes of the whole frames in the first `len` bytes of the buffer.
static size_t whole_frames(const struct ft_trace_writer *writer, size_t len)
{
    size_t at = 0;

    while (len - at >= FT_FRAME_HEADER_BYTES) {
        struct ft_frame frame;
        size_t bytes;

        if (ft_frame_decode(writer->out.data + at, &frame))
            break;
        bytes = FT_FRAME_HEADER_BYTES + (size_t)frame.head_len + frame.data_len;
        if (len - at < bytes)
            break;
        at += bytes;
    }
    return at;
}

void ft_trace_writer_consume(struct ft_trace_writer *writer, size_t len)
{
    size_t left = writer->out.len - writer->consumed;
    size_t whole;

    writer->consumed += len < left ? len : left;
    whole = writer->consumed == writer->out.len ? writer->out.len : whole_frames(writer, writer->consumed);
    if (whole == writer->out.len && writer->out.cap > OUT_KEPT_BYTES)
        ft_buffer_fini(&writer->out);
    else
        ft_buffer_drop_front(&writer->out, whole);
    writer->consumed -= whole;
    writer->out_offset += whole;
}

uint64_t ft_trace_writer_whole(const struct ft_trace_writer *writer)
{
    return writer->out_offset;
}

void ft_trace_writer_rewind(struct ft_trace_writer *writer)
{
    writer->consumed = 0;
}

// Rows of a block frame that this writer made.
static uint32_t rows_of(const uint8_t *head, size_t len)
{
    // The first field of a Block: tag 1, varint.
    uint32_t rows = 0;

    for (size_t i = 1, shift = 0; i < len && shift < 28; i++, shift += 7) {
        rows |= (uint32_t)(head[i] & 0x7f) << shift;
        if (!(head[i] & 0x80))
            break;
    }
    return rows;
}

static uint64_t varint(const uint8_t *bytes, size_t len, size_t *at)
{
    uint64_t value = 0;

    for (unsigned shift = 0; *at < len && shift < 64; shift += 7) {
        uint8_t byte = bytes[(*at)++];

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

// Events of a profile frame that this writer made: field 11 of its head, found without memory.
static uint64_t profiled_of(const uint8_t *head, size_t len)
{
    enum { EVENTS = 11, VARINT = 0, FIXED64 = 1, BYTES = 2 };

    for (size_t at = 0; at < len;) {
        uint64_t tag = varint(head, len, &at), value = (tag & 7) == FIXED64 ? 8 : varint(head, len, &at);

        if (tag == (EVENTS << 3 | VARINT))
            return value;
        if ((tag & 7) != VARINT)
            at = value < len - at ? at + (size_t)value : len;
    }
    return 0;
}

uint64_t ft_trace_writer_drop_blocks(struct ft_trace_writer *writer)
{
    struct ft_buffer *out = &writer->out;
    size_t from = 0, to = 0;
    uint64_t dropped = 0;

    // A frame that is half in the file has to go on.
    if (writer->consumed)
        return 0;
    while (writer->block_count && writer->blocks[writer->block_count - 1].offset >= writer->out_offset)
        writer->block_count--;
    while (from < out->len) {
        struct ft_frame frame;
        size_t bytes;

        if (ft_frame_decode(out->data + from, &frame))
            break;
        bytes = FT_FRAME_HEADER_BYTES + (size_t)frame.head_len + frame.data_len;
        if (frame.kind == FT_FRAME_BLOCK)
            dropped += rows_of(out->data + from + FT_FRAME_HEADER_BYTES, frame.head_len);
        if (frame.kind == FT_FRAME_PROFILE)
            writer->profiled -= profiled_of(out->data + from + FT_FRAME_HEADER_BYTES, frame.head_len);
        if (frame.kind == FT_FRAME_BLOCK || frame.kind == FT_FRAME_PROFILE) {
            writer->frames--;
        } else {
            memmove(out->data + to, out->data + from, bytes);
            to += bytes;
        }
        from += bytes;
    }
    out->len = to;
    writer->events -= dropped;
    return dropped;
}

size_t ft_trace_writer_memory(const struct ft_trace_writer *writer)
{
    return sizeof(*writer) + ft_tables_memory(&writer->tables) + ft_block_encoder_memory(writer->encoder) +
           ft_profile_memory(&writer->profile) + writer->out.cap + writer->tagged.cap +
           writer->block_cap * sizeof(*writer->blocks);
}

uint64_t ft_trace_writer_bytes(const struct ft_trace_writer *writer)
{
    return next_offset(writer);
}

uint64_t ft_trace_writer_events(const struct ft_trace_writer *writer)
{
    return writer->events;
}

void ft_trace_writer_trim(struct ft_trace_writer *writer)
{
    if (writer->out.len == 0)
        ft_buffer_fini(&writer->out);
    ft_block_encoder_trim(writer->encoder);
    if (writer->profile.events == 0)
        ft_profile_fini(&writer->profile);
    ft_tables_trim(&writer->tables);
}
