// SPDX-License-Identifier: MIT
#include "proto/trace_block.h"

static int grow_threads(struct ft_block_order *order, uint32_t thread)
{
    size_t before = order->thread_cap;
    int rc = ft_array_grow(&order->run_of_thread, &order->thread_cap, thread, sizeof(*order->run_of_thread));

    if (rc == 0)
        memset(order->run_of_thread + before, 0, (order->thread_cap - before) * sizeof(*order->run_of_thread));
    return rc;
}

int ft_block_order_reserve(struct ft_block_order *order, uint32_t thread)
{
    int rc = thread < order->thread_cap ? 0 : grow_threads(order, thread);

    if (rc == 0 && order->row_count == order->row_cap)
        rc = ft_array_grow(&order->run_of_row, &order->row_cap, order->row_count, sizeof(*order->run_of_row));
    if (rc == 0 && order->run_count == order->run_cap)
        rc = ft_array_grow(&order->runs, &order->run_cap, order->run_count, sizeof(*order->runs));
    return rc;
}

uint32_t ft_block_order_add_run(struct ft_block_order *order, uint32_t thread, int64_t start_ns)
{
    order->runs[order->run_count++] = (struct ft_block_run){
        .thread = thread,
        .is_sorted = true,
        .last_start_ns = start_ns,
    };
    order->run_of_thread[thread] = (uint32_t)order->run_count;
    return (uint32_t)order->run_count;
}

void ft_block_order_reset(struct ft_block_order *order)
{
    for (size_t i = 0; i < order->run_count; i++)
        order->run_of_thread[order->runs[i].thread] = 0;
    order->run_count = 0;
    order->row_count = 0;
}

// Stable merge sort by start, bottom up: a hostile order costs no more than any.
static void sort_by_start(const struct ft_event *rows, uint32_t *order, uint32_t *spare, size_t count)
{
    uint32_t *from = order, *to = spare;

    for (size_t width = 1; width < count; width *= 2) {
        for (size_t left = 0; left < count; left += 2 * width) {
            size_t middle = left + width < count ? left + width : count;
            size_t end = left + 2 * width < count ? left + 2 * width : count;
            size_t a = left, b = middle;

            for (size_t k = left; k < end; k++) {
                bool take_a = a < middle && (b >= end || rows[from[a]].start_ns <= rows[from[b]].start_ns);

                to[k] = take_a ? from[a++] : from[b++];
            }
        }
        uint32_t *swap = from;

        from = to;
        to = swap;
    }
    if (from != order)
        memcpy(order, from, count * sizeof(*order));
}

static int grow_rows(struct ft_block_order *order)
{
    size_t spare_cap = order->cap;
    int rc;

    if (order->row_count <= order->cap)
        return 0;
    rc = ft_array_grow(&order->spare, &spare_cap, order->row_count - 1, sizeof(*order->spare));
    return rc ? rc : ft_array_grow(&order->rows, &order->cap, order->row_count - 1, sizeof(*order->rows));
}

int ft_block_order_finish(struct ft_block_order *order, const struct ft_event *rows)
{
    uint32_t first = 0;
    int rc = grow_rows(order);

    if (rc)
        return rc;
    for (size_t i = 0; i < order->run_count; i++) {
        order->runs[i].first = first;
        first += order->runs[i].count;
        order->runs[i].count = 0;
    }
    for (size_t i = 0; i < order->row_count; i++) {
        struct ft_block_run *run = &order->runs[order->run_of_row[i]];

        order->rows[run->first + run->count++] = (uint32_t)i;
    }
    for (size_t i = 0; i < order->run_count; i++) {
        const struct ft_block_run *run = &order->runs[i];

        if (!run->is_sorted)
            sort_by_start(rows, order->rows + run->first, order->spare, run->count);
    }
    return 0;
}

void ft_block_order_fini(struct ft_block_order *order)
{
    free(order->run_of_row);
    free(order->rows);
    free(order->spare);
    free(order->runs);
    free(order->run_of_thread);
    *order = (struct ft_block_order){0};
}
