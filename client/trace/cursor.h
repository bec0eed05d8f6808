// SPDX-License-Identifier: MIT
/* A cursor, and how rows of a part become a batch. */
#ifndef FT_TRACE_CURSOR_H
#define FT_TRACE_CURSOR_H

#include "client/trace/impl.h"

/* One thread's room for a batch: columns of indices, which the decoder does not have. NULL: not asked for. */
struct ft_translation {
    struct flowtap_trace_batch batch;
    int64_t *start_ns;
    uint32_t *name, *category, *process, *thread, *file, *path, *file2, *path2, *tags;
    struct flowtap_trace_arg *args;
    size_t arg_room;
};

int ft_translation_init(struct ft_translation *translation, uint32_t columns); /* 0 or -ENOMEM; _fini in any case */
void ft_translation_fini(struct ft_translation *translation);
/* Fills in the batch, valid as long as `rows`. 0 or -ENOMEM. */
int ft_translate(struct ft_translation *translation, const struct flowtap_trace *trace, size_t part, uint32_t columns,
                 const struct ft_rows *rows);

struct flowtap_trace_cursor {
    const struct flowtap_trace *trace;
    const struct ft_where *where; /* NULL: all events */
    struct ft_trace_decoder *decoder;
    struct ft_selector selector;
    struct ft_translation translation;
    uint32_t columns, decoded; /* FLOWTAP_TRACE_*; FT_COL_* */
    uint32_t share, share_count;
    size_t part, block; /* what comes next */
    uint64_t turn;      /* blocks before that, of all files */
    uint64_t skipped, damaged;
};

#endif
