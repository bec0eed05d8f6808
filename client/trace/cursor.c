// SPDX-License-Identifier: MIT
/* Blocks to batches: one block at a time, decoded, chosen from, and its ids turned into indices of the trace. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/trace/cursor.h"

_Static_assert((int)FLOWTAP_TRACE_KIND_COUNTER == (int)FT_EVENT_COUNTER, "kinds");
_Static_assert((int)FLOWTAP_TRACE_HAS_ERROR == (int)FT_HAS_ERR && (int)FLOWTAP_TRACE_HAS_SIZE == (int)FT_HAS_SIZE,
               "has");
_Static_assert((int)FLOWTAP_TRACE_ARGS_CUT == (int)FT_EVENT_F_ARGS_CUT &&
                   (int)FLOWTAP_TRACE_DOUBLE == (int)FT_EVENT_F_DOUBLE,
               "flags");

static const struct {
    uint32_t asked, decoded;
} columns_of[] = {
    {FLOWTAP_TRACE_START, FT_COL_START},
    {FLOWTAP_TRACE_DURATION, FT_COL_DUR},
    {FLOWTAP_TRACE_CALL, FT_COL_CALL},
    {FLOWTAP_TRACE_NAME, FT_COL_CALL | FT_COL_NAME},
    {FLOWTAP_TRACE_FILE, FT_COL_FILE},
    {FLOWTAP_TRACE_FILE2, FT_COL_FILE | FT_COL_FILE2},
    {FLOWTAP_TRACE_FD, FT_COL_FD},
    {FLOWTAP_TRACE_SIZE, FT_COL_SIZE | FT_COL_HAS},
    {FLOWTAP_TRACE_OFFSET, FT_COL_OFFSET | FT_COL_HAS},
    {FLOWTAP_TRACE_RESULT, FT_COL_RESULT | FT_COL_HAS},
    {FLOWTAP_TRACE_BYTES, FT_COL_BYTES | FT_COL_HAS},
    {FLOWTAP_TRACE_WORD, FT_COL_ARG | FT_COL_HAS},
    {FLOWTAP_TRACE_ERROR, FT_COL_ERR | FT_COL_HAS},
    {FLOWTAP_TRACE_TAGS, FT_COL_CONTEXT},
    {FLOWTAP_TRACE_FLAGS, FT_COL_FLAGS},
    {FLOWTAP_TRACE_HAS, FT_COL_HAS},
    {FLOWTAP_TRACE_ARGS, FT_COL_ARGS},
};

static uint32_t decoded_columns(uint32_t asked)
{
    uint32_t columns = 0;
    for (size_t i = 0; i < sizeof(columns_of) / sizeof(columns_of[0]); i++) {
        columns |= asked & columns_of[i].asked ? columns_of[i].decoded : 0;
    }
    return columns;
}

static int prepare(struct flowtap_trace_cursor *cursor)
{
    int status = ft_trace_decoder_create(&cursor->decoder);
    cursor->decoded = decoded_columns(cursor->columns);
    if (status == 0 && cursor->where) {
        cursor->decoded |= ft_where_columns(cursor->where);
        status = ft_selector_init(&cursor->selector, cursor->where);
    }
    return status < 0 ? status : ft_translation_init(&cursor->translation, cursor->columns);
}

int flowtap_trace_cursor_open(const struct flowtap_trace *trace, const struct flowtap_trace_select *select,
                              uint32_t columns, uint32_t share, uint32_t share_count, struct flowtap_trace_cursor **out,
                              struct flowtap_trace_error *error)
{
    if (share >= share_count) {
        return ft_library_fail(error, -EINVAL, "there is no share %u of %u", share, share_count);
    }
    if (columns & ~(uint32_t)FLOWTAP_TRACE_ALL) {
        return ft_library_fail(error, -EINVAL, "this library does not know all of the columns %#x", columns);
    }
    struct flowtap_trace_cursor *cursor = calloc(1, sizeof(*cursor));
    if (!cursor) {
        return ft_library_no_memory(error);
    }
    cursor->trace = trace;
    cursor->where = select ? select->where : NULL;
    cursor->columns = columns;
    cursor->share = share;
    cursor->share_count = share_count;
    if (prepare(cursor) < 0) {
        flowtap_trace_cursor_close(cursor);
        return ft_library_no_memory(error);
    }
    *out = cursor;
    return 0;
}

void flowtap_trace_cursor_close(struct flowtap_trace_cursor *cursor)
{
    if (!cursor) {
        return;
    }
    ft_translation_fini(&cursor->translation);
    ft_selector_fini(&cursor->selector);
    ft_trace_decoder_destroy(cursor->decoder);
    free(cursor);
}

/* Steps to the next block of this share: false at the end. `*block` is that of file `cursor->part`. */
static bool step(struct flowtap_trace_cursor *cursor, size_t *block)
{
    const struct ft_trace_set *set = cursor->trace->set;
    for (; cursor->part < ft_trace_set_reader_count(set); cursor->part++, cursor->block = 0) {
        size_t count;
        ft_trace_reader_blocks(ft_trace_set_reader(set, cursor->part), &count);
        while (cursor->block < count) {
            *block = cursor->block++;
            if (cursor->turn++ % cursor->share_count == cursor->share) {
                return true;
            }
        }
    }
    return false;
}

/* The chosen rows of a block. 1, 0 where there are none, or -errno. */
static int read_block(struct flowtap_trace_cursor *cursor, size_t block, struct ft_rows *rows)
{
    const struct ft_trace_reader *reader = ft_trace_set_reader(cursor->trace->set, cursor->part);
    struct ft_rows all;
    if (cursor->where && !ft_where_may_match(cursor->where, cursor->decoder, cursor->part, block)) {
        cursor->skipped++;
        return 0;
    }
    int status = ft_trace_decoder_rows(cursor->decoder, reader, block, cursor->decoded, &all);
    if (status == -EBADMSG) {
        cursor->damaged++;
        return 0;
    }
    if (status < 0) {
        return status;
    }
    if (cursor->where) {
        ft_selector_pick(&cursor->selector, cursor->part, &all, rows);
    } else {
        *rows = all;
    }
    return rows->count > 0;
}

static int explain(const struct flowtap_trace_cursor *cursor, int code, struct flowtap_trace_error *error)
{
    const char *path = ft_trace_reader_path(ft_trace_set_reader(cursor->trace->set, cursor->part));
    if (code == -ENOMEM) {
        return ft_library_no_memory(error);
    }
    if (code == -ESTALE) {
        return ft_library_fail(error, code, "%s: replaced or cut while it was read", path);
    }
    return ft_library_fail(error, code, "%s: cannot read events: %s", path, strerrordesc_np(-code));
}

int flowtap_trace_cursor_next(struct flowtap_trace_cursor *cursor, const struct flowtap_trace_batch **out,
                              struct flowtap_trace_error *error)
{
    struct ft_rows rows;
    size_t block;
    while (step(cursor, &block)) {
        int status = read_block(cursor, block, &rows);
        if (status > 0) {
            status = ft_translate(&cursor->translation, cursor->trace, cursor->part, cursor->columns, &rows);
            *out = status < 0 ? *out : &cursor->translation.batch;
            status = status < 0 ? status : 1;
        }
        if (status != 0) {
            return status > 0 ? 1 : explain(cursor, status, error);
        }
    }
    return 0;
}

uint64_t flowtap_trace_cursor_skipped(const struct flowtap_trace_cursor *cursor)
{
    return cursor->skipped;
}

uint64_t flowtap_trace_cursor_damaged(const struct flowtap_trace_cursor *cursor)
{
    return cursor->damaged;
}
