// SPDX-License-Identifier: MIT
#include "proto/trace_block.h"

int64_t ft_block_args_add(struct ft_block_args *args, const struct ft_event_arg *more, size_t count)
{
    size_t first = args->count;

    if (count > FT_BLOCK_ARGS_MAX - first)
        return -EOVERFLOW;
    for (size_t i = 0; i < count; i++) {
        int rc = ft_array_grow(&args->items, &args->cap, first + i, sizeof(*args->items));

        if (rc)
            return rc;
        args->items[first + i] = more[i];
    }
    args->count += count;
    return (int64_t)first;
}

void ft_block_args_fini(struct ft_block_args *args)
{
    free(args->items);
    *args = (struct ft_block_args){0};
}

// Room for the numbers of the rows and for two columns of arguments.
static int reserve(struct ft_block_columns *columns, size_t count)
{
    size_t cap = columns->arg_cap ? columns->arg_cap : 256;
    uint64_t *memory;

    if (count <= columns->arg_cap)
        return 0;
    while (cap < count)
        cap *= 2;
    memory = malloc(cap * 3 * sizeof(*memory));
    if (!memory)
        return -ENOMEM;
    free(columns->arg_memory);
    columns->arg_memory = memory;
    columns->arg_cap = cap;
    return 0;
}

int ft_block_columns_add_args(struct ft_block_columns *columns, const struct ft_event *rows,
                              const struct ft_block_order *order, const struct ft_block_args *args)
{
    uint64_t *counts, *keys, *values;
    size_t used = 0, most = order->row_count;
    int rc;

    for (size_t i = 0; args->count && i < order->row_count; i++)
        used += rows[i].arg_count;
    if (used == 0)
        return 0;
    rc = reserve(columns, used > most ? used : most);
    if (rc)
        return rc;
    counts = columns->arg_memory;
    keys = counts + columns->arg_cap;
    values = keys + columns->arg_cap;
    used = 0;
    for (size_t i = 0; i < order->row_count; i++) {
        const struct ft_event *row = &rows[order->rows[i]];

        counts[i] = row->arg_count;
        for (size_t a = 0; a < row->arg_count; a++, used++) {
            keys[used] = (uint64_t)args->items[row->first_arg + a].key << FT_COLUMN_ARG_TYPE_BITS |
                         args->items[row->first_arg + a].type;
            values[used] = args->items[row->first_arg + a].value;
        }
    }
    columns->numbers[FT_COLUMN_ARGS] = counts;
    columns->count[FT_COLUMN_ARGS] = order->row_count;
    columns->numbers[FT_COLUMN_ARG_KEY] = keys;
    columns->numbers[FT_COLUMN_ARG_VALUE] = values;
    columns->count[FT_COLUMN_ARG_KEY] = columns->count[FT_COLUMN_ARG_VALUE] = used;
    return 0;
}
