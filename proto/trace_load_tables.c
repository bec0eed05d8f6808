// SPDX-License-Identifier: MIT
#include "proto/trace_aggregate_message.h"
#include "proto/trace_reader_impl.h"
#include "proto/trace_tables.h"
#include "proto/trace_writer.h"

#include <errno.h>
#include <string.h>

// Loaders return 0, -EBADMSG or -ENOMEM; the worst of all is the table's.
static int worse(int a, int b)
{
    return a == -ENOMEM || b == 0 ? a : b;
}

// Room for the text of names is taken in pieces: as many small ones would be a third longer.
#define TEXT_ROOM_BYTES ((size_t)4096)

static char *make_text(struct ft_trace_reader *reader, size_t bytes)
{
    size_t wanted = bytes < TEXT_ROOM_BYTES / 4 ? TEXT_ROOM_BYTES : bytes;
    char *text;

    if (bytes > reader->text_left) {
        text = ft_arena_alloc(&reader->arena, wanted);
        if (!text || wanted == bytes)
            return text;
        reader->text_room = text;
        reader->text_left = wanted;
    }
    text = reader->text_room;
    reader->text_room += bytes;
    reader->text_left -= bytes;
    return text;
}

static int load_names(struct ft_trace_reader *reader, const Flowtap__Names *names)
{
    const char *before = NULL;
    size_t before_len = 0;

    if (names->n_shared != names->n_rest || !ft_pages_may_make(&reader->names, names->first_id, names->n_rest))
        return -EBADMSG;
    for (size_t i = 0; i < names->n_rest; i++) {
        size_t shared = names->shared[i], rest = names->rest[i].len;
        struct ft_bytes *name;
        char *text;

        if (shared > before_len || rest > FT_TRACE_STRING_MAX || shared > FT_TRACE_STRING_MAX - rest)
            return -EBADMSG;
        text = make_text(reader, shared + rest + 1);
        name = ft_pages_make(&reader->names, &reader->arena, names->first_id + (uint32_t)i);
        if (!text || !name)
            return -ENOMEM;
        if (shared)
            memcpy(text, before, shared);
        if (rest)
            memcpy(text + shared, names->rest[i].data, rest);
        text[shared + rest] = '\0';
        *name = (struct ft_bytes){.data = text, .len = shared + rest};
        before = text;
        before_len = shared + rest;
    }
    return 0;
}

static int load_place(struct ft_trace_reader *reader, const Flowtap__Place *from)
{
    struct ft_reader_place *place;

    if (!ft_pages_may_make(&reader->places, from->id, 1))
        return -EBADMSG;
    place = ft_pages_make(&reader->places, &reader->arena, from->id);
    if (!place)
        return -ENOMEM;
    *place = (struct ft_reader_place){
        .dev = from->dev,
        .mount = from->mount,
        .fstype = from->fstype,
        .block_size = from->block_size,
    };
    return 0;
}

static uint64_t unzigzag(uint64_t number)
{
    return number >> 1 ^ (uint64_t)-(int64_t)(number & 1);
}

static int load_files(struct ft_trace_reader *reader, const Flowtap__Files *files)
{
    size_t count = files->n_path, inodes = 0;
    uint32_t path = 0;
    uint64_t inode = 0, birth = 0;
    const bool may_be_exact = reader->header.minor >= 1;

    if (files->n_place != count || files->n_kind != count || (files->n_birth && files->n_birth != files->n_inode) ||
        !ft_pages_may_make(&reader->files, files->first_id, count))
        return -EBADMSG;
    for (size_t i = 0; i < count; i++) {
        struct ft_reader_file *file = ft_pages_make(&reader->files, &reader->arena, files->first_id + (uint32_t)i);
        uint32_t kind = files->kind[i] & FT_FILE_KIND_MASK;
        bool known = false; // its birth is

        if (!file)
            return -ENOMEM;
        path += (uint32_t)files->path[i];
        if (files->kind[i] >> FT_FILE_INODE_AT & 1) {
            if (inodes == files->n_inode)
                return -EBADMSG;
            inode += (uint64_t)files->inode[inodes];
            known = files->n_birth && files->birth[inodes];
            birth += known ? unzigzag(files->birth[inodes] - 1) : 0;
            inodes++;
        }
        *file = (struct ft_reader_file){
            .is_known = true,
            .path = path,
            .place = files->place[i],
            .inode = files->kind[i] >> FT_FILE_INODE_AT & 1 ? inode : 0,
            .birth = known ? birth & FT_FILE_BIRTH_MAX : 0,
            .kind = kind < FT_FILE_KIND_COUNT ? kind & FT_FILE_KIND_MASK : FT_FILE_KIND_UNKNOWN,
            .source = files->kind[i] >> FT_FILE_SOURCE_AT & 1,
            .is_cut = files->kind[i] >> FT_FILE_CUT_AT & 1,
            .is_exact = may_be_exact && known && ft_birth_is_exact(birth),
        };
    }
    return 0;
}

static void free_process(struct ft_trace_reader *reader, struct ft_reader_process *process)
{
    if (!process)
        return;
    reader->process_bytes -= sizeof(*process) + process->arena.bytes;
    ft_arena_fini(&process->arena);
    free(process);
}

// The record without texts and lists.
static Flowtap__Process numbers_of(const Flowtap__Process *from)
{
    static const ProtobufCBinaryData none = {0};
    Flowtap__Process numbers = *from;

    numbers.exe = numbers.cwd = numbers.user = none;
    numbers.job = NULL;
    numbers.n_argv = numbers.n_claims = numbers.n_tags = numbers.n_own_tags = 0;
    numbers.n_in_call = numbers.n_dropped_calls = 0;
    return numbers;
}

static int load_process(struct ft_trace_reader *reader, const Flowtap__Process *from)
{
    size_t used = reader->arena.bytes + reader->process_bytes;
    struct ft_reader_process **slot, *process;
    int rc;

    if (!ft_pages_may_make(&reader->processes, from->id, 1))
        return -EBADMSG;
    slot = ft_pages_make(&reader->processes, &reader->arena, from->id);
    if (!slot || used >= reader->options.memory_max)
        return -ENOMEM;
    process = calloc(1, sizeof(*process));
    reader->arena.has_no_memory |= !process;
    if (!process)
        return -ENOMEM;
    if (reader->options.numbers_only) {
        Flowtap__Process numbers = numbers_of(from);

        rc = ft_record_process(&process->arena, &numbers, &process->record);
    } else {
        rc = ft_record_process(&process->arena, from, &process->record);
    }
    if (rc) {
        reader->arena.has_no_memory |= process->arena.has_no_memory;
        ft_arena_fini(&process->arena);
        free(process);
        return rc;
    }
    free_process(reader, *slot);
    *slot = process;
    reader->process_bytes += sizeof(*process) + process->arena.bytes;
    return 0;
}

static int load_thread(struct ft_trace_reader *reader, const Flowtap__Thread *from)
{
    struct ft_reader_thread *thread;

    if (!ft_pages_may_make(&reader->threads, from->id, 1))
        return -EBADMSG;
    thread = ft_pages_make(&reader->threads, &reader->arena, from->id);
    if (!thread)
        return -ENOMEM;
    thread->is_known = true;
    thread->record.process = from->process;
    thread->record.tid = from->tid;
    thread->record.ordinal = from->ordinal;
    if (reader->options.numbers_only)
        return 0;
    return ft_record_bytes(&reader->arena, from->name, &thread->record.name);
}

static int load_context(struct ft_trace_reader *reader, const Flowtap__Context *from)
{
    struct ft_reader_context *context;
    const struct ft_tag *tags;

    if (!ft_pages_may_make(&reader->contexts, from->id, 1))
        return -EBADMSG;
    context = ft_pages_make(&reader->contexts, &reader->arena, from->id);
    if (!context || ft_record_tags(&reader->arena, from->tags, from->n_tags, &tags))
        return -ENOMEM;
    *context = (struct ft_reader_context){.tags = tags, .count = from->n_tags, .is_known = true};
    return 0;
}

static int load_call(struct ft_trace_reader *reader, const Flowtap__Call *from)
{
    struct ft_trace_call *call;

    if (from->id >= FT_TRACE_CALL_MAX)
        return -EBADMSG;
    call = ft_arena_alloc(&reader->arena, sizeof(*call));
    if (!call)
        return -ENOMEM;
    call->group = from->group <= UINT8_MAX ? (uint8_t)from->group : 0;
    if (ft_record_bytes(&reader->arena, from->name, &call->name) ||
        ft_record_bytes(&reader->arena, from->category, &call->category))
        return -ENOMEM;
    reader->calls[from->id] = call;
    return 0;
}

static int load_clock(struct ft_trace_reader *reader, const Flowtap__Clock *from)
{
    struct ft_trace_clock *clock = FT_LIST_ADD(reader, clocks);

    if (!clock)
        return -ENOMEM;
    clock->mono_ns = ft_time_or_zero(from->mono_ns);
    clock->ticks = from->ticks;
    clock->realtime_offset_ns = ft_offset_or_zero(from->realtime_offset_ns);
    return 0;
}

static int load_gap(struct ft_trace_reader *reader, const Flowtap__Gap *from)
{
    struct ft_trace_gap *gap = FT_LIST_ADD(reader, gaps);

    if (!gap)
        return -ENOMEM;
    gap->kind = from->kind <= UINT8_MAX ? (uint8_t)from->kind : 0;
    gap->pid = from->pid;
    gap->process = from->process;
    gap->count = from->count ? from->count : 1;
    gap->when_ns = ft_time_or_zero(from->when_ns);
    gap->parent = from->parent;
    gap->inside_pid = from->inside_pid;
    if (ft_record_bytes(&reader->arena, from->exe, &gap->exe) ||
        ft_record_bytes(&reader->arena, from->reason, &gap->reason)) {
        reader->gaps.count--;
        return -ENOMEM;
    }
    return 0;
}

static int load_loss(struct ft_trace_reader *reader, const Flowtap__Loss *from)
{
    struct ft_trace_loss *loss = FT_LIST_ADD(reader, losses);

    if (!loss)
        return -ENOMEM;
    loss->cause = from->cause < FT_CAUSE_COUNT ? (uint8_t)from->cause : FT_CAUSE_DAEMON_LIMIT;
    loss->process = from->process;
    loss->count = from->count;
    loss->when_ns = ft_time_or_zero(from->when_ns);
    return 0;
}

#define LOAD_ALL(field, load)                      \
    for (size_t i = 0; i < tables->n_##field; i++) \
        rc = worse(rc, load(reader, tables->field[i]));

int ft_reader_load_tables(struct ft_trace_reader *reader, const Flowtap__Tables *tables)
{
    int rc = 0;

    if (!reader->options.numbers_only) {
        LOAD_ALL(names, load_names)
        LOAD_ALL(places, load_place)
        LOAD_ALL(files, load_files)
        LOAD_ALL(contexts, load_context)
        LOAD_ALL(calls, load_call)
        LOAD_ALL(gaps, load_gap)
    }
    LOAD_ALL(processes, load_process)
    LOAD_ALL(threads, load_thread)
    LOAD_ALL(clocks, load_clock)
    LOAD_ALL(losses, load_loss)
    return worse(rc, ft_reader_load_resume(reader, tables));
}

int ft_reader_load_names(struct ft_trace_reader *reader, const Flowtap__Tables *tables)
{
    int rc = 0;

    LOAD_ALL(names, load_names)
    LOAD_ALL(files, load_files)
    return rc;
}
#undef LOAD_ALL
