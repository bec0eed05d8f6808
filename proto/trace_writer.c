// SPDX-License-Identifier: MIT
#include "proto/trace_writer.h"

#include "proto/calls.h"
#include "proto/frame.h"
#include "proto/trace_block.h"
#include "proto/trace_message.h"
#include "proto/trace_tables.h"
#include "proto/trace_writer_impl.h"

#define COLUMN_LEVEL 1

int ft_writer_append_frame(struct ft_trace_writer *writer, unsigned kind, const ProtobufCMessage *message)
{
    struct ft_buffer *out = &writer->out;
    size_t len = protobuf_c_message_get_packed_size(message);
    int rc;

    if (len > FT_FRAME_HEAD_MAX)
        return -EINVAL;
    rc = ft_buffer_reserve(out, FT_FRAME_HEADER_BYTES + len);
    if (rc)
        return rc;
    protobuf_c_message_pack(message, out->data + out->len + FT_FRAME_HEADER_BYTES);
    ft_frame_encode(out->data + out->len, kind, 0, out->data + out->len + FT_FRAME_HEADER_BYTES, (uint32_t)len, NULL,
                    0);
    out->len += FT_FRAME_HEADER_BYTES + len;
    writer->frames++;
    return 0;
}

int ft_trace_writer_create(const struct ft_trace_header *header, const struct ft_trace_writer_options *options,
                           struct ft_trace_writer **out)
{
    struct ft_trace_writer *writer = calloc(1, sizeof(*writer));
    Flowtap__Header message;
    int level, rc;

    if (!writer)
        return -ENOMEM;
    if (options)
        writer->options = *options;
    level = writer->options.zlib_level ? writer->options.zlib_level : COLUMN_LEVEL;
    rc = level < 1 || level > 9 ? -EINVAL : ft_tables_init(&writer->tables);
    if (rc == 0) {
        writer->encoder = ft_block_encoder_create(level);
        rc = writer->encoder ? ft_message_from_header(&writer->tables.arena, header, &message) : -ENOMEM;
    }
    if (rc == 0)
        rc = ft_writer_append_frame(writer, FT_FRAME_HEADER, &message.base);
    if (rc) {
        ft_trace_writer_destroy(writer);
        return rc;
    }
    *out = writer;
    return 0;
}

void ft_trace_writer_destroy(struct ft_trace_writer *writer)
{
    if (!writer)
        return;
    ft_tables_fini(&writer->tables);
    ft_block_encoder_destroy(writer->encoder);
    ft_profile_fini(&writer->profile);
    ft_buffer_fini(&writer->tagged);
    ft_buffer_fini(&writer->out);
    free(writer->blocks);
    free(writer);
}

int64_t ft_trace_writer_name(struct ft_trace_writer *writer, struct ft_bytes bytes)
{
    return writer->is_finished ? -EPIPE : ft_tables_name(&writer->tables, bytes);
}

int64_t ft_trace_writer_file(struct ft_trace_writer *writer, const struct ft_trace_file *file)
{
    return writer->is_finished ? -EPIPE : ft_tables_file(&writer->tables, file);
}

int64_t ft_trace_writer_context(struct ft_trace_writer *writer, const struct ft_tag *tags, size_t count)
{
    if (writer->is_finished)
        return -EPIPE;
    return count ? ft_tables_context(&writer->tables, tags, count) : 0;
}

static bool is_process(const struct ft_trace_writer *writer, uint32_t id)
{
    return id <= writer->tables.process_count;
}

static int put_process(struct ft_trace_writer *writer, uint32_t id, const struct ft_trace_process *process)
{
    if (writer->is_finished)
        return -EPIPE;
    if (!is_process(writer, process->parent))
        return -EINVAL;
    for (size_t i = 0; i < process->in_call_count; i++)
        if (process->in_call[i].file > writer->tables.files.count || process->in_call[i].call >= FT_TRACE_CALL_MAX)
            return -EINVAL;
    return ft_tables_put_process(&writer->tables, id, process);
}

int ft_trace_writer_put_process(struct ft_trace_writer *writer, uint32_t id, const struct ft_trace_process *process)
{
    return id && is_process(writer, id) ? put_process(writer, id, process) : -EINVAL;
}

int64_t ft_trace_writer_new_process(struct ft_trace_writer *writer, const struct ft_trace_process *process)
{
    int rc;

    if (writer->tables.process_count == FT_TRACE_ID_MAX)
        return -EOVERFLOW;
    rc = put_process(writer, writer->tables.process_count + 1, process);
    if (rc)
        return rc;
    return ++writer->tables.process_count;
}

static int put_thread(struct ft_trace_writer *writer, uint32_t id, const struct ft_trace_thread *thread)
{
    if (writer->is_finished)
        return -EPIPE;
    return is_process(writer, thread->process) ? ft_tables_put_thread(&writer->tables, id, thread) : -EINVAL;
}

int ft_trace_writer_put_thread(struct ft_trace_writer *writer, uint32_t id, const struct ft_trace_thread *thread)
{
    return id && id <= writer->tables.thread_count ? put_thread(writer, id, thread) : -EINVAL;
}

int64_t ft_trace_writer_new_thread(struct ft_trace_writer *writer, const struct ft_trace_thread *thread)
{
    int rc;

    if (writer->tables.thread_count == FT_TRACE_ID_MAX)
        return -EOVERFLOW;
    rc = put_thread(writer, writer->tables.thread_count + 1, thread);
    if (rc)
        return rc;
    return ++writer->tables.thread_count;
}

int ft_trace_writer_put_gap(struct ft_trace_writer *writer, const struct ft_trace_gap *gap)
{
    if (writer->is_finished)
        return -EPIPE;
    return is_process(writer, gap->process) ? ft_tables_put_gap(&writer->tables, gap) : -EINVAL;
}

int ft_trace_writer_put_loss(struct ft_trace_writer *writer, const struct ft_trace_loss *loss)
{
    if (writer->is_finished)
        return -EPIPE;
    return is_process(writer, loss->process) ? ft_tables_put_loss(&writer->tables, loss) : -EINVAL;
}

int ft_trace_writer_put_clock(struct ft_trace_writer *writer, const struct ft_trace_clock *clock)
{
    return writer->is_finished ? -EPIPE : ft_tables_put_clock(&writer->tables, clock);
}

int ft_trace_writer_put_call(struct ft_trace_writer *writer, unsigned call, const struct ft_trace_call *text)
{
    int rc = writer->is_finished ? -EPIPE : ft_tables_put_call(&writer->tables, call, text);

    if (rc == 0)
        writer->is_described[call] = true;
    return rc;
}

int64_t ft_trace_writer_args(struct ft_trace_writer *writer, const struct ft_event_arg *args, size_t count)
{
    const uint64_t names = writer->tables.names.count;

    if (writer->is_finished)
        return -EPIPE;
    if (count > FT_EVENT_ARGS_MAX)
        return -EINVAL;
    for (size_t i = 0; i < count; i++)
        if (args[i].key > names || args[i].type == 0 || args[i].type >= FT_ARG_TYPE_END ||
            (args[i].type == FT_ARG_TEXT && args[i].value > names))
            return -EINVAL;
    return ft_block_args_add(ft_block_args_of(writer->encoder), args, count);
}

size_t ft_trace_writer_args_left(const struct ft_trace_writer *writer)
{
    return FT_BLOCK_ARGS_MAX - ft_block_args_of(writer->encoder)->count;
}

static bool are_args_valid(const struct ft_trace_writer *writer, const struct ft_event *event)
{
    size_t known;

    if (event->arg_count == 0)
        return true;
    known = ft_block_args_of(writer->encoder)->count;
    return event->arg_count <= FT_EVENT_ARGS_MAX && event->first_arg < known &&
           event->arg_count <= known - event->first_arg;
}

static inline bool are_times_valid(const struct ft_event *event)
{
    return (uint64_t)event->dur_ns < FT_TIME_LIMIT_NS &&
           (uint64_t)event->start_ns + FT_TIME_LIMIT_NS - 1 < 2 * (uint64_t)FT_TIME_LIMIT_NS - 1;
}

static bool is_valid(const struct ft_trace_writer *writer, const struct ft_event *event)
{
    const struct ft_tables *tables = &writer->tables;

    return event->thread && event->thread <= tables->thread_count && event->file <= tables->files.count &&
           event->file2 <= tables->files.count && event->context <= tables->contexts.count &&
           event->name <= tables->names.count && event->category <= tables->names.count &&
           event->call < FT_TRACE_CALL_MAX && are_args_valid(writer, event) && event->kind < FT_EVENT_KIND_COUNT &&
           are_times_valid(event);
}

// A call as the table of this build tells it.
static bool describe_known(unsigned call, struct ft_trace_call *out)
{
    const char *name = ft_call_name(call);

    if (!name)
        return false;
    *out = (struct ft_trace_call){
        .name = FT_BYTES(name),
        .category = FT_BYTES(ft_category_name(ft_call_category(call))),
        .group = (uint8_t)ft_call_group(call),
    };
    return true;
}

// A call that the file uses for the first time gets its record.
static int describe(struct ft_trace_writer *writer, unsigned call)
{
    bool (*tell)(unsigned call, struct ft_trace_call *out) = writer->options.describe_call;
    struct ft_trace_call text = {0};

    if (tell ? tell(call, &text) : describe_known(call, &text))
        return ft_trace_writer_put_call(writer, call, &text);
    writer->is_described[call] = true;
    return 0;
}

static uint8_t class_of(const struct ft_trace_writer *writer, uint32_t file)
{
    return file ? writer->tables.file_classes[file] : FT_FILE_CLASS_NONE;
}

unsigned ft_trace_writer_file_class(const struct ft_trace_writer *writer, uint32_t file)
{
    return file <= writer->tables.files.count ? class_of(writer, file) : FT_FILE_CLASS_NONE;
}

struct ft_bytes ft_trace_writer_file_path(const struct ft_trace_writer *writer, uint32_t file)
{
    struct ft_tables_file key;
    uint32_t len;

    if (file == 0 || file > writer->tables.files.count)
        return (struct ft_bytes){0};
    memcpy(&key, ft_intern_get(&writer->tables.files, file, &len), sizeof(key));
    if (key.path == 0)
        return (struct ft_bytes){0};
    const uint8_t *path = ft_intern_get(&writer->tables.names, key.path, &len);
    return (struct ft_bytes){.data = (const char *)path, .len = len};
}

// Whether an event may come now, when there are `count` rows or sums.
static inline int admit(struct ft_trace_writer *writer, const struct ft_event *event, size_t count)
{
    if (writer->is_finished)
        return -EPIPE;
    if (!is_valid(writer, event))
        return -EINVAL;
    if (count == FT_TRACE_BLOCK_ROWS_MAX)
        return -EOVERFLOW;
    return writer->is_described[event->call] ? 0 : describe(writer, event->call);
}

int ft_trace_writer_add_profiled(struct ft_trace_writer *writer, const struct ft_event *event)
{
    int rc;

    // Runs of calls of one kind on one file are what most programs make.
    if (!writer->is_finished && event->arg_count == 0 && are_times_valid(event) &&
        ft_profile_add_again(&writer->profile, event))
        return 0;
    rc = admit(writer, event, writer->profile.count);
    if (rc)
        return rc;
    return ft_profile_add(&writer->profile, event, class_of(writer, event->file), class_of(writer, event->file2));
}

uint64_t ft_trace_writer_profiled(const struct ft_trace_writer *writer)
{
    return writer->profile.events;
}

int ft_trace_writer_add(struct ft_trace_writer *writer, const struct ft_event *event)
{
    int rc = admit(writer, event, ft_block_rows(writer->encoder));

    if (rc)
        return rc;
    return ft_block_add(writer->encoder, event, class_of(writer, event->file), class_of(writer, event->file2));
}

size_t ft_trace_writer_rows(const struct ft_trace_writer *writer)
{
    return ft_block_rows(writer->encoder);
}

void ft_trace_writer_drop_rows(struct ft_trace_writer *writer)
{
    ft_block_reset(writer->encoder);
    ft_profile_reset(&writer->profile);
    writer->tagged.len = 0;
}
