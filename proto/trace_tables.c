// SPDX-License-Identifier: MIT
#include "proto/trace_tables.h"

#include "proto/trace_message.h"
#include "proto/trace_writer.h"

#include <errno.h>

// Replaced records are swept out of `pending` when they are this much and more
// than half of it.
#define DEAD_BYTES_MAX ((size_t)1 << 20)
// Longest message of one record.
#define RECORD_BYTES_MAX ((size_t)4 << 20)
// zlib level of tables: they are few beside the columns, but for jobs of many small files.
#define TABLES_LEVEL 4

_Static_assert(FT_INTERN_IDS_MAX == FT_TRACE_ID_MAX, "ids");

int ft_tables_init(struct ft_tables *tables)
{
    int rc;

    *tables = (struct ft_tables){.squeezer.level = TABLES_LEVEL};
    rc = ft_intern_init(&tables->names);
    if (rc == 0)
        rc = ft_intern_init(&tables->files);
    if (rc == 0)
        rc = ft_intern_init(&tables->places);
    if (rc == 0)
        rc = ft_intern_init(&tables->contexts);
    if (rc)
        ft_tables_fini(tables);
    return rc;
}

void ft_tables_fini(struct ft_tables *tables)
{
    ft_intern_fini(&tables->names);
    ft_intern_fini(&tables->files);
    ft_intern_fini(&tables->places);
    ft_intern_fini(&tables->contexts);
    free(tables->file_classes);
    ft_buffer_fini(&tables->pending);
    free(tables->segments);
    free(tables->segment_of_process);
    ft_buffer_fini(&tables->frame);
    ft_squeezer_fini(&tables->squeezer);
    ft_arena_fini(&tables->arena);
}

void ft_tables_trim(struct ft_tables *tables)
{
    if (tables->segment_count == 0)
        ft_buffer_fini(&tables->pending);
    ft_buffer_fini(&tables->frame);
    ft_squeezer_fini(&tables->squeezer);
    ft_arena_fini(&tables->arena);
}

size_t ft_tables_memory(const struct ft_tables *tables)
{
    return ft_intern_memory(&tables->names) + ft_intern_memory(&tables->files) + ft_intern_memory(&tables->places) +
           ft_intern_memory(&tables->contexts) + tables->file_classes_cap + tables->pending.cap +
           tables->segment_cap * sizeof(*tables->segments) + tables->segment_of_process_cap * sizeof(uint32_t) +
           tables->frame.cap + ft_squeezer_memory(&tables->squeezer) + tables->arena.bytes;
}

int64_t ft_tables_name(struct ft_tables *tables, struct ft_bytes bytes)
{
    if (bytes.len > FT_TRACE_STRING_MAX)
        return -EINVAL;
    return bytes.len ? ft_intern_add(&tables->names, bytes.data, (uint32_t)bytes.len) : 0;
}

int64_t ft_tables_file(struct ft_tables *tables, const struct ft_trace_file *file)
{
    struct ft_tables_place place = {
        .dev = file->dev,
        .mount = file->mount,
        .fstype = file->fstype,
        .block_size = file->block_size,
    };
    struct ft_tables_file key = {
        .inode = file->inode,
        .birth = file->inode ? file->birth & FT_FILE_BIRTH_MAX : 0,
        .path = file->path,
        .bits = file->kind | (uint32_t)file->source << FT_FILE_SOURCE_AT | (uint32_t)file->is_cut << FT_FILE_CUT_AT |
                (uint32_t)(file->inode != 0) << FT_FILE_INODE_AT,
    };
    int64_t id;
    int rc;

    if (file->path > tables->names.count || file->mount > tables->names.count || file->fstype > tables->names.count ||
        file->kind >= FT_FILE_KIND_COUNT || file->source >= FT_PATH_SOURCE_COUNT)
        return -EINVAL;
    rc = ft_array_grow(&tables->file_classes, &tables->file_classes_cap, tables->files.count + 1, 1);
    if (rc)
        return rc;
    id = ft_intern_add(&tables->places, &place, sizeof(place));
    if (id < 0)
        return id;
    key.place = (uint32_t)id;
    id = ft_intern_add(&tables->files, &key, sizeof(key));
    if (id > 0)
        tables->file_classes[id] = (uint8_t)ft_file_kind_class(file->kind);
    return id;
}

// A context's key is its message without an id, which is the same for the same tags.
int64_t ft_tables_context(struct ft_tables *tables, const struct ft_tag *tags, size_t count)
{
    Flowtap__Context context;
    Flowtap__Context *list[] = {&context};
    Flowtap__Tables message = FLOWTAP__TABLES__INIT;
    struct ft_buffer key = {0};
    size_t before = tables->contexts.count;
    int64_t id;
    int rc;

    ft_arena_reset(&tables->arena);
    rc = ft_message_from_context(&tables->arena, 0, tags, count, &context);
    if (rc)
        return rc;
    rc = ft_buffer_reserve(&key, flowtap__context__get_packed_size(&context));
    if (rc)
        return rc;
    key.len = flowtap__context__pack(&context, key.data);
    id = -EINVAL;
    if (key.len <= RECORD_BYTES_MAX)
        id = ft_intern_find(&tables->contexts, key.data, (uint32_t)key.len);
    if (id == 0) {
        // Wait first: if that fails, the context must not count as known.
        context.id = (uint32_t)before + 1;
        message.n_contexts = 1;
        message.contexts = list;
        rc = ft_tables_wait(tables, &message, 0);
        id = rc ? rc : ft_intern_add(&tables->contexts, key.data, (uint32_t)key.len);
    }
    ft_buffer_fini(&key);
    return id;
}

static void sweep(struct ft_tables *tables)
{
    size_t kept = 0, len = 0;

    for (size_t i = 0; i < tables->segment_count; i++) {
        struct ft_tables_segment segment = tables->segments[i];

        if (segment.len == 0)
            continue;
        memmove(tables->pending.data + len, tables->pending.data + segment.offset, segment.len);
        segment.offset = len;
        len += segment.len;
        tables->segments[kept++] = segment;
        if (segment.process)
            tables->segment_of_process[segment.process] = (uint32_t)kept;
    }
    tables->segment_count = kept;
    tables->pending.len = len;
    tables->pending_dead = 0;
}

int ft_tables_wait(struct ft_tables *tables, const Flowtap__Tables *message, uint32_t process)
{
    size_t len = flowtap__tables__get_packed_size(message);
    size_t cap_before = tables->segment_of_process_cap;
    int rc = len > RECORD_BYTES_MAX ? -EINVAL : 0;

    if (rc == 0 && process >= cap_before) {
        rc = ft_array_grow(&tables->segment_of_process, &tables->segment_of_process_cap, process, sizeof(uint32_t));
        if (rc == 0)
            memset(tables->segment_of_process + cap_before, 0,
                   (tables->segment_of_process_cap - cap_before) * sizeof(uint32_t));
    }
    if (rc == 0)
        rc = ft_array_grow(&tables->segments, &tables->segment_cap, tables->segment_count, sizeof(*tables->segments));
    if (rc == 0)
        rc = ft_buffer_reserve(&tables->pending, len);
    if (rc)
        return rc;
    if (process && tables->segment_of_process[process]) {
        struct ft_tables_segment *old = &tables->segments[tables->segment_of_process[process] - 1];

        tables->pending_dead += old->len;
        old->len = 0;
    }
    tables->segments[tables->segment_count++] = (struct ft_tables_segment){
        .offset = tables->pending.len,
        .len = len,
        .process = process,
    };
    if (process)
        tables->segment_of_process[process] = (uint32_t)tables->segment_count;
    tables->pending.len += flowtap__tables__pack(message, tables->pending.data + tables->pending.len);
    if (tables->pending_dead > DEAD_BYTES_MAX && tables->pending_dead > tables->pending.len / 2)
        sweep(tables);
    return 0;
}
