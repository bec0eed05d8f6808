// SPDX-License-Identifier: MIT
#include "proto/frame.h"
#include "proto/trace_tables.h"

#include <errno.h>

// A frame's message is closed at about this size; a part (a batch of names, one
// record) is at most as long again.
#define FRAME_BYTES ((size_t)4 << 20)
#define BATCH_BYTES ((size_t)2 << 20)
#define BATCH_COUNT 65536U

_Static_assert(2 * FRAME_BYTES + BATCH_BYTES <= FT_FRAME_HEAD_MAX, "a frame's message fits its maximum");

struct flush {
    struct ft_tables *tables;
    struct ft_buffer *out;
    uint64_t frames;
    bool is_marked;                  // the frame being built says where its names and files begin
    uint32_t first_name, first_file; // the next ones
};

static int close_frame(struct flush *flush)
{
    struct ft_buffer *message = &flush->tables->frame, *out = flush->out;
    bool is_zlib;
    int rc;

    if (message->len == 0)
        return 0;
    rc = ft_squeeze_tail(&flush->tables->squeezer, message->len, false, message, &is_zlib);
    if (rc == 0)
        rc = ft_buffer_reserve(out, FT_FRAME_HEADER_BYTES + message->len);
    if (rc)
        return rc;
    ft_frame_encode(out->data + out->len, FT_FRAME_TABLES, is_zlib ? FT_FRAME_F_ZLIB : 0, message->data,
                    (uint32_t)message->len, NULL, 0);
    out->len += FT_FRAME_HEADER_BYTES;
    ft_buffer_append(out, message->data, message->len);
    message->len = 0;
    flush->is_marked = false;
    flush->frames++;
    return 0;
}

static int add_message(struct flush *flush, const Flowtap__Tables *message)
{
    struct ft_buffer *frame = &flush->tables->frame;
    int rc = ft_buffer_reserve(frame, flowtap__tables__get_packed_size(message));

    if (rc)
        return rc;
    frame->len += flowtap__tables__pack(message, frame->data + frame->len);
    return frame->len >= FRAME_BYTES ? close_frame(flush) : 0;
}

// A message of names or files: they come last in a frame, so that a reader may stop before them.
static int add_last(struct flush *flush, const Flowtap__Tables *message)
{
    Flowtap__Tables mark = FLOWTAP__TABLES__INIT;
    int rc = 0;

    if (!flush->is_marked) {
        mark.first_name = flush->first_name;
        mark.first_file = flush->first_file;
        rc = add_message(flush, &mark);
        flush->is_marked = rc == 0 && flush->tables->frame.len > 0;
    }
    return rc ? rc : add_message(flush, message);
}

static uint32_t shared_prefix(const uint8_t *a, uint32_t a_len, const uint8_t *b, uint32_t b_len)
{
    uint32_t max = a_len < b_len ? a_len : b_len, i = 0;

    while (i < max && a[i] == b[i])
        i++;
    return i;
}

// Names `first` + 1 ... as many as make a batch; *count tells how many.
static int add_names(struct flush *flush, size_t first, size_t *count)
{
    struct ft_tables *tables = flush->tables;
    size_t most = tables->names.count - first < BATCH_COUNT ? tables->names.count - first : BATCH_COUNT, bytes = 0;
    Flowtap__Names names = FLOWTAP__NAMES__INIT, *list = &names;
    Flowtap__Tables message = FLOWTAP__TABLES__INIT;
    const uint8_t *before = NULL;
    uint32_t before_len = 0;

    ft_arena_reset(&tables->arena);
    names.shared = ft_arena_alloc(&tables->arena, most * sizeof(*names.shared));
    names.rest = ft_arena_alloc(&tables->arena, most * sizeof(*names.rest));
    if (!names.shared || !names.rest)
        return -ENOMEM;
    for (*count = 0; *count < most && bytes < BATCH_BYTES; (*count)++) {
        uint32_t len, shared;
        const uint8_t *name = ft_intern_get(&tables->names, (uint32_t)(first + *count + 1), &len);

        shared = shared_prefix(before, before_len, name, len);
        names.shared[*count] = shared;
        names.rest[*count] = (ProtobufCBinaryData){.len = len - shared, .data = (uint8_t *)name + shared};
        bytes += len - shared;
        before = name;
        before_len = len;
    }
    names.first_id = (uint32_t)first + 1;
    names.n_shared = names.n_rest = *count;
    message.n_names = 1;
    message.names = &list;
    flush->first_name = names.first_id;
    return add_last(flush, &message);
}

static uint64_t zigzag(int64_t number)
{
    return (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
}

static int add_files(struct flush *flush, size_t first, size_t *count)
{
    struct ft_tables *tables = flush->tables;
    size_t n = tables->files.count - first < BATCH_COUNT ? tables->files.count - first : BATCH_COUNT;
    Flowtap__Files files = FLOWTAP__FILES__INIT, *list = &files;
    Flowtap__Tables message = FLOWTAP__TABLES__INIT;
    uint32_t path = 0;
    uint64_t inode = 0, birth = 0;
    bool has_birth = false;

    ft_arena_reset(&tables->arena);
    files.path = ft_arena_alloc(&tables->arena, n * sizeof(*files.path));
    files.place = ft_arena_alloc(&tables->arena, n * sizeof(*files.place));
    files.inode = ft_arena_alloc(&tables->arena, n * sizeof(*files.inode));
    files.kind = ft_arena_alloc(&tables->arena, n * sizeof(*files.kind));
    files.birth = ft_arena_alloc(&tables->arena, n * sizeof(*files.birth));
    if (!files.path || !files.place || !files.inode || !files.kind || !files.birth)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        struct ft_tables_file file;
        uint32_t len;

        memcpy(&file, ft_intern_get(&tables->files, (uint32_t)(first + i + 1), &len), sizeof(file));
        files.path[i] = (int32_t)(file.path - path);
        files.place[i] = file.place;
        files.kind[i] = file.bits;
        path = file.path;
        if (file.inode) {
            files.birth[files.n_inode] = file.birth ? 1 + zigzag((int64_t)(file.birth - birth)) : 0;
            files.inode[files.n_inode++] = (int64_t)(file.inode - inode);
            inode = file.inode;
            birth = file.birth ? file.birth : birth;
            has_birth |= file.birth != 0;
        }
    }
    *count = n;
    files.first_id = (uint32_t)first + 1;
    files.n_path = files.n_place = files.n_kind = n;
    files.n_birth = has_birth ? files.n_inode : 0;
    message.n_files = 1;
    message.files = &list;
    flush->first_file = files.first_id;
    return add_last(flush, &message);
}

static int add_place(struct flush *flush, size_t index, size_t *count)
{
    Flowtap__Place place = FLOWTAP__PLACE__INIT, *list = &place;
    Flowtap__Tables message = FLOWTAP__TABLES__INIT;
    struct ft_tables_place key;
    uint32_t len;

    memcpy(&key, ft_intern_get(&flush->tables->places, (uint32_t)index + 1, &len), sizeof(key));
    place.id = (uint32_t)index + 1;
    place.dev = key.dev;
    place.mount = key.mount;
    place.fstype = key.fstype;
    place.block_size = key.block_size;
    message.n_places = 1;
    message.places = &list;
    *count = 1;
    return add_message(flush, &message);
}

// Puts the entries of one table that are not out yet, batch by batch.
static int add_all(struct flush *flush, size_t out_count, size_t count,
                   int (*add)(struct flush *flush, size_t first, size_t *count))
{
    while (out_count < count) {
        size_t done = 0;
        int rc = add(flush, out_count, &done);

        if (rc)
            return rc;
        out_count += done;
    }
    return 0;
}

static int add_segments(struct flush *flush)
{
    struct ft_tables *tables = flush->tables;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < tables->segment_count; i++) {
        const struct ft_tables_segment *segment = &tables->segments[i];

        rc = ft_buffer_append(&tables->frame, tables->pending.data + segment->offset, segment->len);
        if (rc == 0 && tables->frame.len >= FRAME_BYTES)
            rc = close_frame(flush);
    }
    return rc;
}

static void forget_what_waited(struct ft_tables *tables)
{
    for (size_t i = 0; i < tables->segment_count; i++)
        if (tables->segments[i].process)
            tables->segment_of_process[tables->segments[i].process] = 0;
    tables->segment_count = 0;
    tables->pending.len = 0;
    tables->pending_dead = 0;
    tables->names_out = tables->names.count;
    tables->files_out = tables->files.count;
    tables->places_out = tables->places.count;
}

int ft_tables_flush(struct ft_tables *tables, struct ft_buffer *out, uint64_t *frames)
{
    struct flush flush = {.tables = tables,
                          .out = out,
                          .first_name = (uint32_t)tables->names_out + 1,
                          .first_file = (uint32_t)tables->files_out + 1};
    size_t before = out->len;
    int rc;

    tables->frame.len = 0;
    rc = add_all(&flush, tables->places_out, tables->places.count, add_place);
    if (rc == 0)
        rc = add_segments(&flush);
    if (rc == 0)
        rc = add_all(&flush, tables->names_out, tables->names.count, add_names);
    flush.first_name = (uint32_t)tables->names.count + 1;
    if (rc == 0)
        rc = add_all(&flush, tables->files_out, tables->files.count, add_files);
    if (rc == 0)
        rc = close_frame(&flush);
    if (rc) {
        out->len = before;
        return rc;
    }
    *frames += flush.frames;
    forget_what_waited(tables);
    return 0;
}
