// SPDX-License-Identifier: MIT
#include "proto/trace_reader_impl.h"

#include <errno.h>
#include <zlib.h>

int ft_reader_inflate_head(struct ft_arena *scratch, const uint8_t *head, size_t len, const uint8_t **out,
                           size_t *out_len)
{
    z_stream stream = {0};
    size_t cap = len * 4 + 4096;
    uint8_t *raw = NULL;
    int rc;

    if (inflateInit(&stream) != Z_OK) {
        scratch->has_no_memory = true;
        return -ENOMEM;
    }
    stream.next_in = (Bytef *)head;
    stream.avail_in = (uInt)len;
    do {
        uint8_t *bigger;

        cap = cap < FT_FRAME_HEAD_MAX / 2 ? cap * 2 : FT_FRAME_HEAD_MAX;
        bigger = ft_arena_alloc(scratch, cap);
        if (!bigger) {
            inflateEnd(&stream);
            return -ENOMEM;
        }
        if (stream.total_out)
            memcpy(bigger, raw, stream.total_out);
        raw = bigger;
        stream.next_out = raw + stream.total_out;
        stream.avail_out = (uInt)(cap - stream.total_out);
        rc = inflate(&stream, Z_NO_FLUSH);
    } while (rc == Z_OK && stream.avail_out == 0 && cap < FT_FRAME_HEAD_MAX);
    inflateEnd(&stream);
    scratch->has_no_memory |= rc == Z_MEM_ERROR;
    if (rc != Z_STREAM_END)
        return rc == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
    *out = raw;
    *out_len = stream.total_out;
    return 0;
}

static int load_header(struct ft_trace_reader *reader, ProtobufCAllocator *allocator, uint64_t offset,
                       const uint8_t *head, size_t len)
{
    Flowtap__Header *message = flowtap__header__unpack(allocator, len, head);

    if (!message || reader->has_header) {
        ft_reader_note(reader, FT_PROBLEM_BAD_RECORD, offset, len);
        return 0;
    }
    if (message->major != FT_TRACE_MAJOR)
        return -EPROTONOSUPPORT;
    if (ft_record_header(&reader->arena, message, &reader->header))
        ft_reader_note(reader, FT_PROBLEM_LIMIT, offset, len);
    else
        reader->has_header = true;
    return 0;
}

static void load_tables(struct ft_trace_reader *reader, ProtobufCAllocator *allocator, uint64_t offset,
                        const uint8_t *head, size_t len)
{
    Flowtap__Tables *tables = flowtap__tables__unpack(allocator, len, head);
    int rc = tables ? ft_reader_load_tables(reader, tables) : -EBADMSG;

    if (rc)
        ft_reader_note(reader, rc == -ENOMEM ? FT_PROBLEM_LIMIT : FT_PROBLEM_BAD_RECORD, offset, len);
}

Flowtap__Block *ft_reader_unpack_block(struct ft_arena *scratch, const uint8_t *head, const struct ft_frame *frame)
{
    ProtobufCAllocator allocator = ft_arena_allocator(scratch);
    Flowtap__Block *block = flowtap__block__unpack(&allocator, frame->head_len, head);
    uint64_t rows = 0, stored = 0;

    if (!block || block->rows == 0 || block->rows > FT_TRACE_BLOCK_ROWS_MAX ||
        block->n_run_rows != block->n_run_thread || block->n_run_start != block->n_run_thread)
        return NULL;
    for (size_t i = 0; i < block->n_run_rows; i++) {
        if (block->run_rows[i] == 0)
            return NULL;
        rows += block->run_rows[i];
    }
    for (size_t i = 0; i < block->n_columns; i++)
        stored += block->columns[i]->stored;
    if (rows != block->rows || stored != frame->data_len || block->start_ns <= -FT_TIME_LIMIT_NS ||
        block->start_ns >= FT_TIME_LIMIT_NS || block->span_ns >= 3 * (uint64_t)FT_TIME_LIMIT_NS)
        return NULL;
    return block;
}

// A BLOCK or PROFILE frame.
static void load_block(struct ft_trace_reader *reader, struct ft_arena *scratch, const struct ft_frame *frame,
                       uint64_t offset, const uint8_t *head)
{
    const Flowtap__Block *message = ft_reader_unpack_block(scratch, head, frame);
    bool is_profile = frame->kind == FT_FRAME_PROFILE;
    struct ft_trace_block *block;

    if (!message || (is_profile && message->events < message->rows)) {
        ft_reader_note(reader, FT_PROBLEM_BAD_BLOCK, offset,
                       FT_FRAME_HEADER_BYTES + (uint64_t)frame->head_len + frame->data_len);
        return;
    }
    block = is_profile ? FT_LIST_ADD(reader, profiles) : FT_LIST_ADD(reader, blocks);
    if (!block) {
        ft_reader_note(reader, FT_PROBLEM_LIMIT, offset, frame->head_len);
        return;
    }
    *block = (struct ft_trace_block){
        .offset = offset,
        .head_len = frame->head_len,
        .data_len = frame->data_len,
        .rows = message->rows,
        .events = is_profile ? message->events : message->rows,
        .start_ns = message->start_ns,
        .end_ns = message->start_ns + (int64_t)message->span_ns,
    };
    if (is_profile)
        reader->profiled += message->events;
    else
        reader->events += message->rows;
    if (ft_reader_load_tagged(reader, message->tagged, message->n_tagged))
        ft_reader_note(reader, FT_PROBLEM_LIMIT, offset, frame->head_len);
}

static bool is_index_right(const struct ft_trace_reader *reader, const Flowtap__Index *index)
{
    uint64_t offset = 0;

    if ((index->profiled && index->profiled != reader->profiled) || index->rows != reader->events ||
        index->frames != reader->frame_count - 1 || index->n_block_offset != reader->blocks.count ||
        (reader->deferred.count == 0 && !reader->options.numbers_only &&
         (index->names != reader->names.max || index->files != reader->files.max)) ||
        index->processes != reader->processes.max || index->threads != reader->threads.max)
        return false;
    for (size_t i = 0; i < index->n_block_offset; i++) {
        offset += index->block_offset[i];
        if (offset != reader->blocks.items[i].offset)
            return false;
    }
    return true;
}

static void load_index(struct ft_trace_reader *reader, ProtobufCAllocator *allocator, uint64_t offset,
                       const uint8_t *head, size_t len)
{
    const Flowtap__Index *index = flowtap__index__unpack(allocator, len, head);

    // Beside damage the index differs for that reason.
    if (!index || (!is_index_right(reader, index) && !reader->is_partial))
        ft_reader_note(reader, FT_PROBLEM_BAD_INDEX, offset, len);
}

static int load_frame(struct ft_trace_reader *reader, struct ft_arena *scratch, const struct ft_frame *frame,
                      uint64_t offset, const uint8_t *head)
{
    unsigned counted = frame->kind < FT_TRACE_FRAME_KINDS ? frame->kind : 0;
    uint64_t bytes = FT_FRAME_HEADER_BYTES + (uint64_t)frame->head_len + frame->data_len;
    ProtobufCAllocator allocator = ft_arena_allocator(scratch);
    size_t len = frame->head_len;

    reader->offset = offset;
    reader->frame_count++;
    reader->frames[counted].count++;
    reader->frames[counted].bytes += bytes;
    ft_arena_reset(scratch);
    if (frame->flags & ~FT_FRAME_F_KNOWN) {
        ft_reader_note(reader, FT_PROBLEM_UNKNOWN_FRAME, offset, bytes);
        return 0;
    }
    if (frame->kind == FT_FRAME_TABLES && reader->options.defer_names &&
        ft_reader_defer(reader, scratch, frame, offset, head))
        return 0;
    if (frame->kind == FT_FRAME_TABLES && frame->flags & FT_FRAME_F_ZLIB &&
        ft_reader_inflate_head(scratch, head, frame->head_len, &head, &len)) {
        ft_reader_note(reader, FT_PROBLEM_BAD_RECORD, offset, bytes);
        return 0;
    }
    switch (frame->kind) {
    case FT_FRAME_HEADER:
        return load_header(reader, &allocator, offset, head, len);
    case FT_FRAME_TABLES:
        load_tables(reader, &allocator, offset, head, len);
        return 0;
    case FT_FRAME_BLOCK:
    case FT_FRAME_PROFILE:
        load_block(reader, scratch, frame, offset, head);
        return 0;
    case FT_FRAME_INDEX:
        load_index(reader, &allocator, offset, head, len);
        return 0;
    case FT_FRAME_END:
        reader->is_closed = true;
        return 0;
    default:
        ft_reader_note(reader, FT_PROBLEM_UNKNOWN_FRAME, offset, bytes);
        return 0;
    }
}

// What could not be taken in for want of memory was noted as damage: that is not the file's.
int ft_reader_load(struct ft_trace_reader *reader, struct ft_arena *scratch, const struct ft_frame *frame,
                   uint64_t offset, const uint8_t *head)
{
    int rc = load_frame(reader, scratch, frame, offset, head);

    return scratch->has_no_memory || reader->arena.has_no_memory ? -ENOMEM : rc;
}
