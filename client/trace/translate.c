// SPDX-License-Identifier: MIT
/* Rows with ids of their file become columns with indices of the trace. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/trace/cursor.h"

_Static_assert((int)FLOWTAP_TRACE_INTEGER == (int)FT_ARG_INTEGER &&
                   (int)FLOWTAP_TRACE_DOUBLE_NUMBER == (int)FT_ARG_DOUBLE &&
                   (int)FLOWTAP_TRACE_TEXT == (int)FT_ARG_TEXT,
               "types of arguments");

/* The columns that have room of their own, and what asks for them. */
#define ROOMS(X)                      \
    X(start_ns, FLOWTAP_TRACE_START)  \
    X(name, FLOWTAP_TRACE_NAME)       \
    X(category, FLOWTAP_TRACE_NAME)   \
    X(process, FLOWTAP_TRACE_PROCESS) \
    X(thread, FLOWTAP_TRACE_THREAD)   \
    X(file, FLOWTAP_TRACE_FILE)       \
    X(path, FLOWTAP_TRACE_FILE)       \
    X(file2, FLOWTAP_TRACE_FILE2)     \
    X(path2, FLOWTAP_TRACE_FILE2)     \
    X(tags, FLOWTAP_TRACE_TAGS)

int ft_translation_init(struct ft_translation *to, uint32_t columns)
{
    bool is_made = true;
#define MAKE(column, asks)                                                  \
    if (columns & (asks)) {                                                 \
        to->column = malloc(sizeof(*to->column) * FT_TRACE_BLOCK_ROWS_MAX); \
        is_made &= to->column != NULL;                                      \
    }
    ROOMS(MAKE)
#undef MAKE
    return is_made ? 0 : -ENOMEM;
}

void ft_translation_fini(struct ft_translation *to)
{
#define RELEASE(column, asks) free(to->column);
    ROOMS(RELEASE)
#undef RELEASE
    free(to->args);
}

static void translate_runs(struct ft_translation *to, const struct ft_trace_set *set, size_t part,
                           const struct ft_rows *rows)
{
    for (size_t r = 0; r < rows->run_count; r++) {
        const struct ft_run *run = &rows->runs[r];
        uint32_t process = ft_trace_set_process_of_thread(set, part, run->thread);
        uint32_t thread = ft_trace_set_thread(set, part, run->thread);
        for (size_t i = run->first, end = i + run->count; i < end; i++) {
            if (to->process) {
                to->process[i] = process;
            }
            if (to->thread) {
                to->thread[i] = thread;
            }
        }
    }
}

static void translate_names(struct ft_translation *to, const struct flowtap_trace *trace, size_t part,
                            const struct ft_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        to->name[i] = ft_library_name_of(trace, part, rows->kind[i], rows->call[i], rows->name[i]);
        to->category[i] = ft_library_category_of(trace, part, rows->kind[i], rows->call[i], rows->category[i]);
    }
}

static void translate_files(const struct flowtap_trace *trace, size_t part, const uint32_t *ids, size_t count,
                            uint32_t *files, uint32_t *paths)
{
    for (size_t i = 0; i < count; i++) {
        files[i] = ids[i] ? ft_trace_set_file_of(trace->set, part, ids[i]) : FLOWTAP_TRACE_NONE;
        paths[i] = ft_library_path(trace, part, ids[i]);
    }
}

static int translate_args(struct ft_translation *to, const struct flowtap_trace *trace, size_t part,
                          const struct ft_rows *rows)
{
    if (rows->arg_total > to->arg_room) {
        struct flowtap_trace_arg *args = realloc(to->args, rows->arg_total * sizeof(*args));
        if (!args) {
            return -ENOMEM;
        }
        to->args = args;
        to->arg_room = rows->arg_total;
    }
    for (size_t i = 0; i < rows->arg_total; i++) {
        const struct ft_event_arg *from = &rows->args[i];
        struct flowtap_trace_arg *arg = &to->args[i];
        *arg = (struct flowtap_trace_arg){.key = ft_library_name(trace, part, from->key), .type = from->type};
        if (from->type == FT_ARG_TEXT) {
            arg->value.text = ft_library_name(trace, part, (uint32_t)from->value);
        } else {
            memcpy(&arg->value, &from->value, sizeof(from->value));
        }
    }
    return 0;
}

/* What the decoder has as it is asked for. */
static void take_columns(struct flowtap_trace_batch *batch, uint32_t columns, const struct ft_rows *rows)
{
#define TAKE(column, from, asks) batch->column = columns & (asks) ? rows->from : NULL
    TAKE(duration_ns, dur_ns, FLOWTAP_TRACE_DURATION);
    TAKE(call, call, FLOWTAP_TRACE_CALL);
    TAKE(kind, kind, FLOWTAP_TRACE_CALL);
    TAKE(fd, fd, FLOWTAP_TRACE_FD);
    TAKE(size, size, FLOWTAP_TRACE_SIZE);
    TAKE(offset, offset, FLOWTAP_TRACE_OFFSET);
    TAKE(result, result, FLOWTAP_TRACE_RESULT);
    TAKE(bytes, bytes, FLOWTAP_TRACE_BYTES);
    TAKE(word, arg, FLOWTAP_TRACE_WORD);
    TAKE(error, err, FLOWTAP_TRACE_ERROR);
    TAKE(flags, flags, FLOWTAP_TRACE_FLAGS);
    TAKE(has, has,
         FLOWTAP_TRACE_HAS | FLOWTAP_TRACE_SIZE | FLOWTAP_TRACE_OFFSET | FLOWTAP_TRACE_RESULT | FLOWTAP_TRACE_BYTES |
             FLOWTAP_TRACE_WORD | FLOWTAP_TRACE_ERROR);
    TAKE(arg_count, arg_count, FLOWTAP_TRACE_ARGS);
    TAKE(first_arg, first_arg, FLOWTAP_TRACE_ARGS);
#undef TAKE
}

int ft_translate(struct ft_translation *to, const struct flowtap_trace *trace, size_t part, uint32_t columns,
                 const struct ft_rows *rows)
{
    struct flowtap_trace_batch *batch = &to->batch;
    int status = columns & FLOWTAP_TRACE_ARGS ? translate_args(to, trace, part, rows) : 0;
    if (status < 0) {
        return status;
    }
    *batch = (struct flowtap_trace_batch){.count = rows->count,
                                          .host = ft_trace_set_reader_host(trace->set, part),
                                          .part = (uint32_t)part,
                                          .args = to->args};
    take_columns(batch, columns, rows);
    int64_t offset_ns = ft_trace_set_realtime_ns(trace->set, part, 0);
    for (size_t i = 0; to->start_ns && i < rows->count; i++) {
        to->start_ns[i] = rows->start_ns[i] + offset_ns;
    }
    if (to->process || to->thread) {
        translate_runs(to, trace->set, part, rows);
    }
    if (to->name) {
        translate_names(to, trace, part, rows);
    }
    if (to->file) {
        translate_files(trace, part, rows->file, rows->count, to->file, to->path);
    }
    if (to->file2) {
        translate_files(trace, part, rows->file2, rows->count, to->file2, to->path2);
    }
    for (size_t i = 0; to->tags && i < rows->count; i++) {
        to->tags[i] = ft_library_tags(trace, part, rows->context[i]);
    }
#define SHOW(column, asks) batch->column = to->column;
    ROOMS(SHOW)
#undef SHOW
    return 0;
}
