// SPDX-License-Identifier: MIT
//
// The writer's half of trace_resume.h.
#include "proto/trace_message.h"
#include "proto/trace_resume.h"
#include "proto/trace_writer_impl.h"

#include <errno.h>

static bool is_text_fitting(struct ft_bytes text)
{
    return text.len <= FT_TRACE_STRING_MAX;
}

static ProtobufCBinaryData data_of(struct ft_bytes text)
{
    return (ProtobufCBinaryData){.len = text.len, .data = (uint8_t *)text.data};
}

static int check_process(const struct ft_trace_writer *writer, uint32_t process)
{
    if (writer->is_finished)
        return -EPIPE;
    return process && process <= writer->tables.process_count ? 0 : -EINVAL;
}

// Each makes a Tables message with one record in `field`.
#define WAIT(writer, field, record)                                                                  \
    ft_tables_wait(&(writer)->tables,                                                                \
                   &(Flowtap__Tables){.base = PROTOBUF_C_MESSAGE_INIT(&flowtap__tables__descriptor), \
                                      .n_##field = 1,                                                \
                                      .field = (record)},                                            \
                   0)

static size_t used_of(const uint64_t *numbers, size_t count)
{
    while (count && !numbers[count - 1])
        count--;
    return count;
}

int ft_trace_writer_put_resume(struct ft_trace_writer *writer, const struct ft_trace_resume *resume)
{
    struct ft_arena *arena = &writer->tables.arena;
    Flowtap__Resume message = FLOWTAP__RESUME__INIT, *list = &message;
    int rc = check_process(writer, resume->process);

    ft_arena_reset(arena);
    if (rc == 0)
        rc = ft_message_from_kernel(arena, &resume->first, &message.first);
    if (rc == 0)
        rc = ft_message_from_kernel(arena, &resume->children, &message.children);
    if (rc == 0)
        rc = ft_message_from_dropped(arena, resume->dropped_calls, resume->dropped_calls_count,
                                     &message.n_dropped_calls, &message.dropped_calls);
    if (rc)
        return rc;
    message.process = resume->process;
    message.start_time = resume->start_time;
    message.clock = resume->clock;
    message.image = resume->image;
    message.gid = resume->gid;
    message.parent_segment = resume->parent_segment;
    message.segment_before = resume->segment_before;
    message.stored = resume->stored;
    message.vfork_rows = resume->vfork_rows;
    message.dropped = (uint64_t *)resume->dropped;
    message.n_dropped = used_of(resume->dropped, FT_CAUSE_COUNT);
    message.gaps = (uint64_t *)resume->gaps;
    message.n_gaps = used_of(resume->gaps, FT_RESUME_GAPS_MAX);
    message.names_lost = resume->names_lost;
    message.last_event_ns = resume->last_event_ns;
    return WAIT(writer, resumes, &list);
}

int ft_trace_writer_put_known(struct ft_trace_writer *writer, const struct ft_trace_known *known)
{
    Flowtap__Known message = FLOWTAP__KNOWN__INIT, *list = &message;
    int rc = check_process(writer, known->process);

    if (rc == 0 && (!known->id || !is_text_fitting(known->text)))
        rc = -EINVAL;
    if (rc)
        return rc;
    message.process = known->process;
    message.id = known->id;
    message.base_id = known->base;
    message.bits = known->bits | (uint32_t)known->kind << 8 | (uint32_t)known->define << 16;
    message.length = known->length;
    message.text = data_of(known->text);
    message.device = known->device;
    message.inode = known->inode;
    message.birth = known->birth;
    return WAIT(writer, known, &list);
}

int ft_trace_writer_put_expected(struct ft_trace_writer *writer, const struct ft_trace_expected *expected)
{
    Flowtap__Expected message = FLOWTAP__EXPECTED__INIT, *list = &message;

    if (writer->is_finished)
        return -EPIPE;
    if (!is_text_fitting(expected->path))
        return -EINVAL;
    message.pid = expected->pid;
    message.path = data_of(expected->path);
    message.way = expected->way;
    message.follow = expected->follow;
    message.is_inside = expected->is_inside;
    message.uid = expected->uid;
    message.gid = expected->gid;
    message.parent = expected->parent;
    message.parent_pid = expected->parent_pid;
    message.since_ns = expected->since_ns;
    return WAIT(writer, expected, &list);
}

int ft_trace_writer_put_taken_over(struct ft_trace_writer *writer, const struct ft_trace_taken_over *taken_over)
{
    Flowtap__TakenOver message = FLOWTAP__TAKEN_OVER__INIT, *list = &message;

    if (writer->is_finished)
        return -EPIPE;
    message.part = taken_over->part;
    message.bytes = taken_over->bytes;
    return WAIT(writer, taken_over, &list);
}

static int make_lines(struct ft_arena *arena, const struct ft_trace_tagged *tagged, Flowtap__Tagged *out)
{
    Flowtap__LineTags *lines = ft_arena_zalloc(arena, tagged->line_count, sizeof(*lines));

    out->lines = ft_arena_zalloc(arena, tagged->line_count, sizeof(*out->lines));
    if (!lines || !out->lines)
        return -ENOMEM;
    for (size_t i = 0; i < tagged->line_count; i++) {
        flowtap__line_tags__init(&lines[i]);
        lines[i].line = tagged->lines[i].line;
        lines[i].tid = tagged->lines[i].tid;
        lines[i].ordinal = tagged->lines[i].ordinal;
        lines[i].tags = (uint32_t *)tagged->lines[i].tags;
        lines[i].n_tags = tagged->lines[i].count;
        out->lines[i] = &lines[i];
    }
    out->n_lines = tagged->line_count;
    return 0;
}

int ft_trace_writer_put_tagged(struct ft_trace_writer *writer, const struct ft_trace_tagged *tagged, bool with_block)
{
    Flowtap__Tagged message = FLOWTAP__TAGGED__INIT, *list = &message;
    Flowtap__Block head = FLOWTAP__BLOCK__INIT;
    int rc = check_process(writer, tagged->process);

    ft_arena_reset(&writer->tables.arena);
    if (rc == 0)
        rc = make_lines(&writer->tables.arena, tagged, &message);
    if (rc)
        return rc;
    message.process = tagged->process;
    message.all = (uint32_t *)tagged->all;
    message.n_all = tagged->all_count;
    if (!with_block || !ft_block_rows(writer->encoder))
        return WAIT(writer, tagged, &list);
    head.n_tagged = 1;
    head.tagged = &list;
    rc = ft_buffer_reserve(&writer->tagged, flowtap__block__get_packed_size(&head));
    if (rc == 0)
        writer->tagged.len += flowtap__block__pack(&head, writer->tagged.data + writer->tagged.len);
    return rc;
}
