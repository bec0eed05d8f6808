// SPDX-License-Identifier: MIT
#include "client/cli/analysis_pass.h"

#include <stdlib.h>

#include "client/cli/analysis_count.h"
#include "client/cli/analysis_workers.h"
#include "client/cli/cli.h"
#include "client/cli/report.h"
#include "proto/calls.h"

/* One thread's state, for the runner. */
struct part {
    struct ft_pass *pass;
    void *state;
};

static void *begin_part(void *pass_untyped)
{
    struct part *part = ft_cli_alloc(sizeof(*part));
    part->pass = pass_untyped;
    part->state = part->pass->begin(part->pass);
    return part;
}

static void add_block(void *part_untyped, const struct ft_scan_block *block, const struct ft_rows *rows)
{
    struct part *part = part_untyped;
    if (part->pass->at) {
        part->pass->at(part->state, block->reader, block->block);
    }
    part->pass->add(part->state, block->reader, rows ? rows : &(struct ft_rows){0});
}

static void take_turn(void *part_untyped, const struct ft_workers_turn *turn)
{
    struct part *part = part_untyped;
    if (part->pass->in_turn) {
        part->pass->in_turn(part->state, turn->watermark_ns);
    }
}

static void end_part(void *part_untyped)
{
    struct part *part = part_untyped;
    part->pass->end(part->state);
    free(part);
}

static void add_all_sums(struct ft_pass *pass)
{
    struct ft_trace_decoder *decoder;
    size_t count;
    const struct ft_trace_set_block *blocks = ft_trace_set_profiles(pass->set, &count);
    if (count == 0 || !pass->add_sums || pass->where) {
        return;
    }
    if (!ft_cli_decoded(ft_trace_decoder_create(&decoder))) {
        pass->bad_blocks += count;
        return;
    }
    void *state = pass->begin(pass);
    for (size_t i = 0; i < count; i++) {
        struct ft_rows rows;
        bool is_sound = ft_cli_decoded(ft_trace_decoder_rows(decoder, ft_trace_set_reader(pass->set, blocks[i].reader),
                                                             FT_TRACE_PROFILE | blocks[i].block, FT_COL_ALL, &rows));
        if (is_sound) {
            pass->add_sums(state, blocks[i].reader, &rows);
        }
        pass->bad_blocks += !is_sound;
    }
    pass->end(state);
    ft_trace_decoder_destroy(decoder);
}

static struct ft_pass_call (*make_calls(const struct ft_trace_set *set))[FT_TRACE_CALL_MAX]
{
    size_t readers = ft_trace_set_reader_count(set);
    struct ft_pass_call(*calls)[FT_TRACE_CALL_MAX] = ft_cli_alloc((readers ? readers : 1) * sizeof(*calls));
    for (size_t r = 0; r < readers; r++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(set, r);
        for (unsigned call = 0; call < FT_TRACE_CALL_MAX; call++) {
            const struct ft_trace_call *record = ft_trace_reader_call(reader, call);
            char room[32];
            const char *name = ft_call_name_find(reader, call, room, sizeof(room));
            const char *category = ft_call_name_category(reader, call);
            unsigned group = record ? record->group : (unsigned)ft_call_group(call);
            calls[r][call] = (struct ft_pass_call){.group = (uint8_t)group,
                                                   .stream = (uint8_t)ft_count_of_stream(name, category, group),
                                                   .is_counted = ft_count_has_category(category),
                                                   .is_open = ft_count_is_open(name)};
        }
    }
    return calls;
}

void ft_pass_run(struct ft_pass *pass)
{
    struct ft_pass_call(*calls)[FT_TRACE_CALL_MAX] = make_calls(pass->set);
    struct ft_workers workers = {.set = pass->set,
                                 .where = pass->where,
                                 .columns = pass->columns,
                                 .progress = pass->progress,
                                 .context = pass,
                                 .begin = begin_part,
                                 .add = add_block,
                                 .in_turn = take_turn,
                                 .end = end_part};
    pass->calls = calls;
    pass->bad_blocks = ft_workers_run(&workers);
    add_all_sums(pass);
    pass->calls = NULL;
    free(calls);
}

unsigned ft_pass_mask(const struct ft_pass *pass, size_t reader, const struct ft_rows *rows, size_t i)
{
    const struct ft_trace_reader *in = ft_trace_set_reader(pass->set, reader);
    const struct ft_pass_call *call = &pass->calls[reader][rows->call[i] < FT_TRACE_CALL_MAX ? rows->call[i] : 0];
    return call->is_counted ? ft_count_of(call->group, ft_trace_reader_file_class(in, rows->file[i]),
                                          ft_trace_reader_file_class(in, rows->file2[i]))
                            : 0;
}
