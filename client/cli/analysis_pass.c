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

static struct ft_pass_files *make_files(const struct ft_trace_set *set)
{
    size_t readers = ft_trace_set_reader_count(set);
    struct ft_pass_files *files = ft_cli_alloc((readers ? readers : 1) * sizeof(*files));
    for (size_t r = 0; r < readers; r++) {
        files[r].max = ft_trace_reader_file_max(ft_trace_set_reader(set, r));
        files[r].classes = ft_cli_alloc((size_t)files[r].max + 1);
    }
    return files;
}

static void free_files(struct ft_pass_files *files, const struct ft_trace_set *set)
{
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        free(files[r].classes);
    }
    free(files);
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
    pass->files = make_files(pass->set);
    pass->bad_blocks = ft_workers_run(&workers);
    add_all_sums(pass);
    free_files(pass->files, pass->set);
    pass->files = NULL;
    pass->calls = NULL;
    free(calls);
}

static unsigned class_of(const struct ft_pass *pass, size_t reader, uint32_t file)
{
    const struct ft_pass_files *files = &pass->files[reader];
    if (file > files->max) {
        return ft_trace_reader_file_class(ft_trace_set_reader(pass->set, reader), file);
    }
    unsigned known = __atomic_load_n(&files->classes[file], __ATOMIC_RELAXED);
    if (known == 0) { /* other threads find the same */
        known = ft_trace_reader_file_class(ft_trace_set_reader(pass->set, reader), file) + 1;
        __atomic_store_n(&files->classes[file], (uint8_t)known, __ATOMIC_RELAXED);
    }
    return known - 1;
}

unsigned ft_pass_mask(const struct ft_pass *pass, size_t reader, const struct ft_rows *rows, size_t i)
{
    const struct ft_pass_call *call = &pass->calls[reader][rows->call[i] < FT_TRACE_CALL_MAX ? rows->call[i] : 0];
    return call->is_counted
               ? ft_count_of(call->group, class_of(pass, reader, rows->file[i]), class_of(pass, reader, rows->file2[i]))
               : 0;
}
