// SPDX-License-Identifier: MIT
//
// The reader's half of trace_resume.h.
#include "proto/trace_decode.h"
#include "proto/trace_reader_impl.h"
#include "proto/trace_resume.h"

#include <errno.h>
#include <string.h>

static int load_resume(struct ft_trace_reader *reader, const Flowtap__Resume *from)
{
    struct ft_trace_resume *resume = FT_LIST_ADD(reader, resumes);

    if (!resume)
        return -ENOMEM;
    *resume = (struct ft_trace_resume){
        .process = from->process,
        .offset = reader->offset,
        .start_time = from->start_time,
        .clock = from->clock,
        .image = from->image,
        .gid = from->gid,
        .parent_segment = from->parent_segment,
        .segment_before = from->segment_before,
        .stored = from->stored,
        .vfork_rows = from->vfork_rows,
        .dropped_calls_count = from->n_dropped_calls,
        .names_lost = from->names_lost,
        .last_event_ns = ft_time_or_zero(from->last_event_ns),
    };
    ft_record_kernel(from->first, &resume->first);
    ft_record_kernel(from->children, &resume->children);
    ft_record_causes(from->dropped, from->n_dropped, resume->dropped);
    for (size_t i = 0; i < from->n_gaps && i < FT_RESUME_GAPS_MAX; i++)
        resume->gaps[i] = from->gaps[i];
    if (ft_record_dropped(&reader->arena, from->dropped_calls, from->n_dropped_calls, &resume->dropped_calls) == 0)
        return 0;
    reader->resumes.count--;
    return -EBADMSG;
}

static int load_known(struct ft_trace_reader *reader, const Flowtap__Known *from)
{
    struct ft_trace_known *known;

    if (!from->id || from->length > UINT16_MAX || from->text.len > UINT16_MAX)
        return -EBADMSG;
    known = FT_LIST_ADD(reader, known);
    if (!known)
        return -ENOMEM;
    *known = (struct ft_trace_known){
        .process = from->process,
        .id = from->id,
        .base = from->base_id,
        .bits = (uint8_t)from->bits,
        .kind = (uint8_t)(from->bits >> 8),
        .define = (uint8_t)(from->bits >> 16),
        .length = (uint16_t)from->length,
        .device = from->device,
        .inode = from->inode,
        .birth = from->birth & (reader->header.minor >= 1 ? FT_FILE_BIRTH_MAX : FT_BIRTH_TIME_MAX),
    };
    return ft_record_bytes(&reader->arena, from->text, &known->text);
}

static int load_expected(struct ft_trace_reader *reader, const Flowtap__Expected *from)
{
    struct ft_trace_expected *expected = FT_LIST_ADD(reader, expected);

    if (!expected)
        return -ENOMEM;
    expected->pid = from->pid;
    expected->way = (uint8_t)from->way;
    expected->follow = (uint8_t)from->follow;
    expected->is_inside = from->is_inside;
    expected->uid = from->uid;
    expected->gid = from->gid;
    expected->parent = from->parent;
    expected->parent_pid = from->parent_pid;
    expected->since_ns = ft_time_or_zero(from->since_ns);
    return ft_record_bytes(&reader->arena, from->path, &expected->path);
}

// A file goes on from few.
#define TAKEN_OVER_MAX 1024

static int load_taken_over(struct ft_trace_reader *reader, const Flowtap__TakenOver *from)
{
    struct ft_trace_taken_over *taken_over;

    if (reader->taken_over.count == TAKEN_OVER_MAX)
        return -EBADMSG;
    taken_over = FT_LIST_ADD(reader, taken_over);
    if (!taken_over)
        return -ENOMEM;
    *taken_over = (struct ft_trace_taken_over){.part = from->part, .bytes = from->bytes};
    return 0;
}

static int copy_ids(struct ft_arena *arena, const uint32_t *from, size_t count, const uint32_t **out)
{
    uint32_t *copy = ft_arena_alloc(arena, count * sizeof(*copy));

    if (!copy)
        return -ENOMEM;
    if (count)
        memcpy(copy, from, count * sizeof(*copy));
    *out = copy;
    return 0;
}

static int load_tagged(struct ft_trace_reader *reader, const Flowtap__Tagged *from)
{
    struct ft_trace_tagged tagged = {.process = from->process, .all_count = from->n_all, .line_count = from->n_lines};
    struct ft_trace_line_tags *lines = ft_arena_alloc(&reader->arena, from->n_lines * sizeof(*lines));
    struct ft_trace_tagged *kept;

    if (!lines || copy_ids(&reader->arena, from->all, from->n_all, &tagged.all))
        return -ENOMEM;
    for (size_t i = 0; i < from->n_lines; i++) {
        lines[i].line = from->lines[i]->line;
        lines[i].tid = from->lines[i]->tid;
        lines[i].ordinal = from->lines[i]->ordinal;
        lines[i].count = from->lines[i]->n_tags;
        if (copy_ids(&reader->arena, from->lines[i]->tags, from->lines[i]->n_tags, &lines[i].tags))
            return -ENOMEM;
    }
    tagged.lines = lines;
    kept = FT_LIST_ADD(reader, tagged);
    if (!kept)
        return -ENOMEM;
    *kept = tagged;
    return 0;
}

int ft_reader_load_tagged(struct ft_trace_reader *reader, Flowtap__Tagged *const *tagged, size_t count)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < count && reader->options.keep_resume; i++)
        rc = load_tagged(reader, tagged[i]);
    return rc;
}

int ft_reader_load_resume(struct ft_trace_reader *reader, const Flowtap__Tables *tables)
{
    int rc = 0;

#define LOAD_ALL(field, load)                                 \
    for (size_t i = 0; rc == 0 && i < tables->n_##field; i++) \
        rc = load(reader, tables->field[i]);
    LOAD_ALL(taken_over, load_taken_over)
    if (!reader->options.keep_resume)
        return rc;
    LOAD_ALL(resumes, load_resume)
    LOAD_ALL(known, load_known)
    LOAD_ALL(expected, load_expected)
#undef LOAD_ALL
    return rc ? rc : ft_reader_load_tagged(reader, tables->tagged, tables->n_tagged);
}

#define LIST_FUNCTION(type, list)                                                                  \
    const struct type *ft_trace_reader_##list(const struct ft_trace_reader *reader, size_t *count) \
    {                                                                                              \
        *count = reader->list.count;                                                               \
        return reader->list.items;                                                                 \
    }
LIST_FUNCTION(ft_trace_resume, resumes)
LIST_FUNCTION(ft_trace_known, known)
LIST_FUNCTION(ft_trace_tagged, tagged)
LIST_FUNCTION(ft_trace_expected, expected)
LIST_FUNCTION(ft_trace_taken_over, taken_over)

uint64_t ft_trace_reader_whole(const struct ft_trace_reader *reader)
{
    for (size_t i = 0; i < reader->problem_count; i++) {
        const struct ft_trace_problem *problem = &reader->problems[i];

        if (problem->kind == FT_PROBLEM_TORN || problem->kind == FT_PROBLEM_GOES_ON ||
            problem->kind == FT_PROBLEM_BEHIND_END || problem->kind == FT_PROBLEM_ANOTHER_TRACE)
            return problem->offset;
    }
    return reader->source.size;
}

void ft_trace_reader_explain(struct ft_trace_reader *reader, uint64_t bytes)
{
    bool is_partial = false;

    reader->is_explained = true;
    for (size_t i = 0; i < reader->problem_count; i++) {
        struct ft_trace_problem *problem = &reader->problems[i];

        if (problem->kind == FT_PROBLEM_TORN && problem->offset >= bytes)
            problem->kind = FT_PROBLEM_GOES_ON;
        is_partial |= ft_problem_is_partial(problem->kind);
    }
    reader->is_partial = is_partial;
}

int ft_trace_decoder_runs(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                          const struct ft_run **out, size_t *count)
{
    Flowtap__Block *message;
    uint32_t first = 0;
    int rc = ft_decoder_load_head(decoder, reader, block, &message);

    if (rc)
        return rc;
    for (size_t i = 0; i < message->n_run_rows; i++) {
        decoder->runs[i] =
            (struct ft_run){.thread = message->run_thread[i], .first = first, .count = message->run_rows[i]};
        first += message->run_rows[i];
    }
    *out = decoder->runs;
    *count = message->n_run_rows;
    return 0;
}
