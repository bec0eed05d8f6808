// SPDX-License-Identifier: MIT
#include "proto/trace_reader_impl.h"

#include <errno.h>

static const char no_bytes[] = "";

const char *ft_problem_text(unsigned kind)
{
    switch (kind) {
#define FT_PROBLEM_TEXT(value, name, severity, text) \
    case (value):                                    \
        return text;
        FT_PROBLEMS(FT_PROBLEM_TEXT)
#undef FT_PROBLEM_TEXT
    default:
        return "unknown";
    }
}

const char *ft_problem_severity(unsigned kind)
{
    switch (kind) {
#define FT_PROBLEM_SEVERITY(value, name, severity, text) \
    case (value):                                        \
        return severity;
        FT_PROBLEMS(FT_PROBLEM_SEVERITY)
#undef FT_PROBLEM_SEVERITY
    default:
        return "damage";
    }
}

bool ft_problem_is_damage(unsigned kind)
{
    return ft_problem_severity(kind)[0] == 'd';
}

bool ft_problem_is_partial(unsigned kind)
{
    return ft_problem_severity(kind)[0] != 'n';
}

void ft_reader_note(struct ft_trace_reader *reader, unsigned kind, uint64_t offset, uint64_t length)
{
    reader->is_partial |= ft_problem_is_partial(kind);
    reader->is_limited |= kind == FT_PROBLEM_LIMIT;
    if (reader->problem_count < FT_TRACE_PROBLEMS_MAX &&
        ft_array_grow(&reader->problems, &reader->problem_cap, reader->problem_count, sizeof(*reader->problems)) == 0) {
        reader->problems[reader->problem_count++] = (struct ft_trace_problem){
            .kind = (uint8_t)kind,
            .offset = offset,
            .length = length,
            .count = 1,
        };
        return;
    }
    for (size_t i = reader->problem_count; i > 0; i--) {
        if (reader->problems[i - 1].kind == kind || i == 1) {
            reader->problems[i - 1].count++;
            return;
        }
    }
}

static struct ft_trace_reader *create(const struct ft_trace_reader_options *options)
{
    static const Flowtap__Header none = FLOWTAP__HEADER__INIT;
    struct ft_trace_reader *reader = calloc(1, sizeof(*reader));

    if (!reader)
        return NULL;
    if (options)
        reader->options = *options;
    if (reader->options.memory_max == 0)
        reader->options.memory_max = FT_TRACE_MEMORY_DEFAULT;
    reader->arena.bytes_max = reader->options.memory_max;
    reader->names.item_bytes = sizeof(struct ft_bytes);
    reader->files.item_bytes = sizeof(struct ft_reader_file);
    reader->places.item_bytes = sizeof(struct ft_reader_place);
    reader->processes.item_bytes = sizeof(struct ft_reader_process *);
    reader->threads.item_bytes = sizeof(struct ft_reader_thread);
    reader->contexts.item_bytes = sizeof(struct ft_reader_context);
    // An empty header until there is one.
    if (ft_record_header(&reader->arena, &none, &reader->header)) {
        free(reader);
        return NULL;
    }
    return reader;
}

// The most ids that an honest file of this size has: each costs some bytes,
// even after zlib.
#define IDS_PER_BYTE 64
#define IDS_MIN (UINT64_C(1) << 16)

static void set_id_limits(struct ft_trace_reader *reader)
{
    struct ft_pages *all[] = {&reader->names,     &reader->files,   &reader->places,
                              &reader->processes, &reader->threads, &reader->contexts};
    uint64_t limit = FT_TRACE_ID_MAX;

    if (reader->source.size < (limit - IDS_MIN) / IDS_PER_BYTE)
        limit = reader->source.size * IDS_PER_BYTE + IDS_MIN;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        all[i]->limit = (uint32_t)limit;
}

size_t ft_reader_memory(const struct ft_trace_reader *reader)
{
    return sizeof(*reader) + reader->arena.bytes + reader->process_bytes;
}

// Fewer bytes than a magic: do they begin one? (A torn file may be that short.)
static bool begins_like_a_trace(struct ft_trace_reader *reader, struct ft_window *window)
{
    uint64_t size = reader->source.size;
    size_t len = size < sizeof(FT_FRAME_MAGIC) - 1 ? (size_t)size : sizeof(FT_FRAME_MAGIC) - 1;
    const uint8_t *bytes;

    return ft_window_get(window, 0, len, &bytes) == 0 && memcmp(bytes, FT_FRAME_MAGIC, len) == 0;
}

static int read_file(struct ft_trace_reader *reader, struct ft_window *window)
{
    int rc;

    if (reader->source.size == 0) {
        ft_reader_note(reader, FT_PROBLEM_EMPTY, 0, 0);
        return 0;
    }
    set_id_limits(reader);
    rc = ft_reader_scan(reader, window);
    if (rc)
        return rc;
    if (reader->frame_count == 0 && !begins_like_a_trace(reader, window))
        return -EBADMSG;
    // What did not fit is not lost.
    reader->has_clock = reader->has_header || reader->clocks.count > 0 || reader->is_limited;
    if (!reader->has_header && reader->clocks.count > 0)
        reader->header.realtime_offset_ns = reader->clocks.items[0].realtime_offset_ns;
    if (!reader->has_header && !reader->is_limited)
        ft_reader_note(reader, FT_PROBLEM_NO_HEADER, 0, 0);
    if (!reader->is_closed)
        ft_reader_note(reader, FT_PROBLEM_NOT_CLOSED, reader->source.size, 0);
    return 0;
}

void ft_reader_rename(struct ft_trace_reader *reader, uint32_t first_id, size_t count)
{
    for (size_t i = 0; reader->options.rename && i < count && i <= UINT32_MAX - first_id; i++) {
        struct ft_bytes *name = ft_pages_get(&reader->names, first_id + (uint32_t)i);

        if (name && name->data)
            *name = reader->options.rename(reader->options.rename_context, *name);
    }
}

static int finish_open(struct ft_trace_reader *reader, struct ft_window *window, struct ft_trace_reader **out)
{
    int rc = read_file(reader, window);

    ft_window_detach(window);
    if (rc) {
        ft_trace_reader_close(reader);
        return rc;
    }
    ft_reader_rename(reader, 1, reader->names.max);
    *out = reader;
    return 0;
}

int ft_trace_reader_open(const char *path, const struct ft_trace_reader_options *options, struct ft_trace_reader **out)
{
    struct ft_trace_reader *reader = create(options);
    struct ft_window window;
    int rc;

    if (!reader)
        return -ENOMEM;
    rc = ft_source_open(&reader->source, path, &window);
    if (rc) {
        ft_trace_reader_close(reader);
        return rc;
    }
    return finish_open(reader, &window, out);
}

int ft_trace_reader_open_memory(const void *bytes, size_t len, const struct ft_trace_reader_options *options,
                                struct ft_trace_reader **out)
{
    struct ft_trace_reader *reader = create(options);
    struct ft_window window;

    if (!reader)
        return -ENOMEM;
    ft_source_open_memory(&reader->source, bytes, len, &window);
    return finish_open(reader, &window, out);
}

void ft_trace_reader_close(struct ft_trace_reader *reader)
{
    if (!reader)
        return;
    for (size_t page = 0; page < reader->processes.page_cap; page++) {
        struct ft_reader_process **items = reader->processes.pages[page];

        for (size_t i = 0; items && i < FT_PAGE_ITEMS; i++) {
            if (!items[i])
                continue;
            ft_arena_fini(&items[i]->arena);
            free(items[i]);
        }
    }
    ft_arena_fini(&reader->arena);
    ft_source_close(&reader->source);
    free(reader->problems);
    free(reader);
}

const char *ft_trace_reader_path(const struct ft_trace_reader *reader)
{
    return reader->source.path ? reader->source.path : "(memory)";
}

const struct ft_trace_header *ft_trace_reader_header(const struct ft_trace_reader *reader)
{
    return &reader->header;
}

uint64_t ft_trace_reader_size(const struct ft_trace_reader *reader)
{
    return reader->source.size;
}

uint64_t ft_trace_reader_events(const struct ft_trace_reader *reader)
{
    return reader->events;
}

uint64_t ft_trace_reader_profiled(const struct ft_trace_reader *reader)
{
    return reader->profiled;
}

struct ft_bytes ft_trace_reader_name(const struct ft_trace_reader *reader, uint32_t id)
{
    const struct ft_bytes *name;

    if (reader->options.defer_names)
        ft_reader_need_name(reader, id);
    name = ft_pages_get(&reader->names, id);
    return name && name->data ? *name : (struct ft_bytes){.data = no_bytes, .len = 0};
}

// NULL where there is none.
static const struct ft_reader_file *find_file(const struct ft_trace_reader *reader, uint32_t id)
{
    const struct ft_reader_file *file;

    if (reader->options.defer_names)
        ft_reader_need_file(reader, id);
    file = ft_pages_get(&reader->files, id);
    return file && file->is_known ? file : NULL;
}

struct ft_trace_file ft_trace_reader_file(const struct ft_trace_reader *reader, uint32_t id)
{
    static const struct ft_reader_place unknown;
    const struct ft_reader_file *file = find_file(reader, id);
    const struct ft_reader_place *place = file ? ft_pages_get(&reader->places, file->place) : NULL;

    if (!file)
        return (struct ft_trace_file){0};
    place = place ? place : &unknown;
    return (struct ft_trace_file){
        .path = file->path,
        .mount = place->mount,
        .fstype = place->fstype,
        .block_size = place->block_size,
        .dev = place->dev,
        .inode = file->inode,
        .birth = file->birth,
        .kind = file->kind,
        .source = file->source,
        .is_cut = file->is_cut,
        .is_exact = file->is_exact,
        .is_known = true,
    };
}

const struct ft_trace_process *ft_trace_reader_process(const struct ft_trace_reader *reader, uint32_t id)
{
    struct ft_reader_process *const *process = ft_pages_get(&reader->processes, id);

    return process && *process ? &(*process)->record : NULL;
}

const struct ft_trace_thread *ft_trace_reader_thread(const struct ft_trace_reader *reader, uint32_t id)
{
    const struct ft_reader_thread *thread = ft_pages_get(&reader->threads, id);

    return thread && thread->is_known ? &thread->record : NULL;
}

const struct ft_trace_call *ft_trace_reader_call(const struct ft_trace_reader *reader, unsigned call)
{
    return call < FT_TRACE_CALL_MAX ? reader->calls[call] : NULL;
}

const struct ft_tag *ft_trace_reader_context(const struct ft_trace_reader *reader, uint32_t id, size_t *count)
{
    const struct ft_reader_context *context = ft_pages_get(&reader->contexts, id);

    *count = context && context->is_known ? context->count : 0;
    return *count ? context->tags : NULL;
}

struct ft_bytes ft_trace_reader_file_path(const struct ft_trace_reader *reader, uint32_t file)
{
    const struct ft_reader_file *record = find_file(reader, file);

    return ft_trace_reader_name(reader, record ? record->path : 0);
}

unsigned ft_trace_reader_file_class(const struct ft_trace_reader *reader, uint32_t file)
{
    const struct ft_reader_file *record;

    if (file == 0)
        return FT_FILE_CLASS_NONE;
    record = find_file(reader, file);
    return record ? ft_file_kind_class(record->kind) : FT_FILE_CLASS_UNKNOWN;
}

uint32_t ft_trace_reader_thread_process(const struct ft_trace_reader *reader, uint32_t thread)
{
    const struct ft_trace_thread *record = ft_trace_reader_thread(reader, thread);

    return record ? record->process : 0;
}

uint32_t ft_trace_reader_name_max(const struct ft_trace_reader *reader)
{
    ft_reader_need_all(reader);
    return reader->names.max;
}

uint32_t ft_trace_reader_file_max(const struct ft_trace_reader *reader)
{
    ft_reader_need_all(reader);
    return reader->files.max;
}

#define MAX_FUNCTION(name, pages)                                               \
    uint32_t ft_trace_reader_##name##_max(const struct ft_trace_reader *reader) \
    {                                                                           \
        return reader->pages.max;                                               \
    }
MAX_FUNCTION(process, processes)
MAX_FUNCTION(thread, threads)
MAX_FUNCTION(context, contexts)

#define LIST_FUNCTION(type, list)                                                                  \
    const struct type *ft_trace_reader_##list(const struct ft_trace_reader *reader, size_t *count) \
    {                                                                                              \
        *count = reader->list.count;                                                               \
        return reader->list.items;                                                                 \
    }
LIST_FUNCTION(ft_trace_gap, gaps)
LIST_FUNCTION(ft_trace_loss, losses)
LIST_FUNCTION(ft_trace_clock, clocks)
LIST_FUNCTION(ft_trace_block, blocks)
LIST_FUNCTION(ft_trace_block, profiles)

const struct ft_trace_problem *ft_trace_reader_problems(const struct ft_trace_reader *reader, size_t *count)
{
    *count = reader->problem_count;
    return reader->problems;
}

bool ft_trace_reader_is_partial(const struct ft_trace_reader *reader)
{
    return reader->is_partial;
}

bool ft_trace_reader_is_limited(const struct ft_trace_reader *reader)
{
    return reader->is_limited;
}

bool ft_trace_reader_is_closed(const struct ft_trace_reader *reader)
{
    return reader->is_closed;
}

void ft_trace_reader_frames(const struct ft_trace_reader *reader, struct ft_trace_frames out[FT_TRACE_FRAME_KINDS])
{
    memcpy(out, reader->frames, sizeof(reader->frames));
}
