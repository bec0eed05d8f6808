// SPDX-License-Identifier: MIT
#include "proto/trace_block.h"

static int grow(struct ft_block_order *order, const struct ft_block_input *input)
{
    size_t threads = (size_t)input->thread_max + 1;

    if (input->row_count > order->cap) {
        size_t spare_cap = order->cap;
        int rc = ft_array_grow(&order->rows, &spare_cap, input->row_count - 1, sizeof(*order->rows));

        if (rc == 0)
            rc = ft_array_grow(&order->spare, &order->cap, input->row_count - 1, sizeof(*order->spare));
        if (rc)
            return rc;
    }
    if (threads > order->thread_cap) {
        size_t before = order->thread_cap;
        int rc = ft_array_grow(&order->run_of_thread, &order->thread_cap, threads - 1, sizeof(*order->run_of_thread));

        if (rc)
            return rc;
        memset(order->run_of_thread + before, 0, (order->thread_cap - before) * sizeof(*order->run_of_thread));
    }
    return 0;
}

// A run for each thread, in order of first appearance, with its count of rows.
static int count_runs(struct ft_block_order *order, const struct ft_block_input *input)
{
    for (size_t i = 0; i < input->row_count; i++) {
        uint32_t thread = input->rows[i].thread;
        uint32_t run = order->run_of_thread[thread];

        if (run == 0) {
            int rc = ft_array_grow(&order->runs, &order->run_cap, order->run_count, sizeof(*order->runs));

            if (rc)
                return rc;
            order->runs[order->run_count++] = (struct ft_block_run){.thread = thread};
            run = order->run_of_thread[thread] = (uint32_t)order->run_count;
        }
        order->runs[run - 1].count++;
    }
    return 0;
}

static bool is_sorted(const struct ft_event *rows, const uint32_t *order, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (rows[order[i]].start_ns < rows[order[i - 1]].start_ns)
            return false;
    return true;
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

int ft_block_order_build(struct ft_block_order *order, const struct ft_block_input *input)
{
    uint32_t first = 0;
    int rc = grow(order, input);

    if (rc)
        return rc;
    order->run_count = 0;
    rc = count_runs(order, input);
    for (size_t i = 0; rc == 0 && i < order->run_count; i++) {
        order->runs[i].first = first;
        first += order->runs[i].count;
        order->runs[i].count = 0;
    }
    for (size_t i = 0; rc == 0 && i < input->row_count; i++) {
        struct ft_block_run *run = &order->runs[order->run_of_thread[input->rows[i].thread] - 1];

        order->rows[run->first + run->count++] = (uint32_t)i;
    }
    for (size_t i = 0; i < order->run_count; i++)
        order->run_of_thread[order->runs[i].thread] = 0;
    for (size_t i = 0; rc == 0 && i < order->run_count; i++) {
        const struct ft_block_run *run = &order->runs[i];

        if (!is_sorted(input->rows, order->rows + run->first, run->count))
            sort_by_start(input->rows, order->rows + run->first, order->spare, run->count);
    }
    return rc;
}

void ft_block_order_fini(struct ft_block_order *order)
{
    free(order->rows);
    free(order->spare);
    free(order->runs);
    free(order->run_of_thread);
    *order = (struct ft_block_order){0};
}
